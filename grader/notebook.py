"""In a notebook: the public tests on the class as it stands in the kernel, right below its cell."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import __main__
from grader.assignment import Assignment, Exercise, load_assignment
from grader.candidate.interface import Candidate
from grader.candidate.local import local_candidate
from grader.examination.checking import Examined, UnknownExercise, examine
from grader.results import TestStatus
from grader.text import visible

ROOT = Path(__file__).resolve().parents[1]

_OWN_LINE = re.compile(r"^Your code: (\w+\.py), line ", re.MULTILINE)


class NotYet(AssertionError):
    """A public test does not pass yet; ``str()`` is its message. Shown without a traceback."""

    def _render_traceback_(self) -> list[str]:  # how IPython asks an exception to show itself
        return [str(self)]


def check(exercise: str, aspect: str | None = None, *, seed: int | None = None) -> None:
    """Run the public tests of ``exercise`` (or one aspect of it, such as ``"masking"``) on your code.

    Your code is what its names (``SelfAttention``, say) stand for in this notebook just now. Prints
    how many tests pass. Raises NotYet, with the first failure explained, when one does not, and
    UnknownExercise when there is no such exercise.
    """
    assignment = load_assignment(ROOT)
    if exercise not in assignment.exercises:
        raise UnknownExercise(
            f"There is no exercise called {exercise!r}. The exercises are: {', '.join(assignment.exercises)}."
        )
    seed = secrets.randbelow(2**31) if seed is None else seed
    with _own_random_numbers():
        examined = examine(
            ROOT,
            lambda: live_candidate(assignment, vars(__main__)),
            seed,
            lambda test: test.exercise == exercise and aspect in (None, test.aspect),
        )
    if examined.failure is not None:
        raise NotYet(_told(examined))
    print(_passed(assignment.exercises[exercise], aspect, len(examined.tests)))


def live_candidate(assignment: Assignment, objects: Mapping[str, object]) -> Candidate:
    """What the names in ``objects`` stand for, as a candidate that runs in this process."""
    homes = assignment.homes
    return local_candidate(
        Path(tempfile.gettempdir()) / f"ipykernel_{os.getpid()}",  # where a kernel's cells have their source
        homes,
        {name: assignment.refused_in(name) for name in homes},
        {
            name: f"{name} is not defined here. Run the cell that defines it, then this one."
            for name in homes
            if name not in objects
        },
        assignment.limits.call_seconds,
        objects,
    )


@contextmanager
def _own_random_numbers() -> Iterator[None]:
    """Leave the notebook's own random numbers as they were: tests draw from seeds of their own."""
    import random

    import torch

    before, torchs = random.getstate(), torch.random.get_rng_state()
    try:
        yield
    finally:
        random.setstate(before)
        torch.random.set_rng_state(torchs)


def _told(examined: Examined) -> str:
    assert examined.failure is not None
    test, outcome = examined.failure
    passed = sum(one.is_passed for one in examined.outcomes.values())
    lines = [f"{passed} of {len(examined.tests)} public tests pass. The first that does not:"]
    lines.append(_by_cell(visible(outcome.message, keep="\n")))
    hint = outcome.hint or test.hint
    if hint and outcome.status is not TestStatus.NOT_RUN:
        lines.append(f"Think about: {hint}")
    return "\n".join(lines)


def _by_cell(message: str) -> str:
    """The message with a cell's number, where it names the file that the kernel keeps a cell in."""
    return _OWN_LINE.sub(lambda found: f"Your code: {_cell_of(found[1])}, line ", message)


def _cell_of(file: str) -> str:
    try:
        from IPython import get_ipython

        compiler: Any = get_ipython().compile
        folder = Path(tempfile.gettempdir()) / f"ipykernel_{os.getpid()}"
        name = compiler.format_code_name(str(folder / file))
    except (ImportError, AttributeError):
        return file
    return " ".join(name) if name else file


def _passed(exercise: Exercise, aspect: str | None, count: int) -> str:
    what = f"{exercise.title}{f', {aspect}' if aspect else ''}"
    if not count:
        return f"{what}: no public test; it is tried when your work is graded."
    tests = "the public test passes" if count == 1 else f"all {count} public tests pass"
    return f"{what}: {tests}. They are not everything: hidden tests make up the rest of the points."
