"""nbgrader's own way: the whole suite on the student's classes, in the student's kernel.

A compatibility, not a wall: whoever wrote the notebook can read the hidden tests and forge the score,
see docs/nbgrader.md. What can be done here is done: the score is a number from 0 to what the cell is
worth, and nothing that tests or answers print reaches the cell, where it would cost all its points.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

from grader.assignment import load_assignment
from grader.examination.checking import Examined, examine
from grader.examination.suite import HIDDEN, PUBLIC
from grader.notebook import live_candidate

ROOT = Path(__file__).resolve().parents[3]
_SEED = 20260901  # the same for all, so that a score can be repeated

_names: Mapping[str, object] = {}


def score(exercise: str, aspect: str, names: Mapping[str, object]) -> float:
    """The points of one aspect of ``exercise`` for what ``names`` stand for, from 0 to its worth."""
    global _names
    _names = names
    with _silent():
        examined = _examined(exercise)
    own = [test for test in examined.tests if test.aspect == aspect]
    earned = sum((test.points for test in own if examined.outcomes[test.id].is_passed), Fraction(0))
    most = sum((test.points for test in own), Fraction(0))
    return float(min(max(earned, Fraction(0)), most))


@cache
def _examined(exercise: str) -> Examined:
    """All tests of the exercise, run once for all its cells: they stand at the notebook's end."""
    assignment = load_assignment(ROOT)
    return examine(
        ROOT,
        lambda: live_candidate(assignment, _names),
        _SEED,
        lambda test: test.exercise == exercise,
        folders=(PUBLIC, HIDDEN),
    )


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Nothing printed within reaches the notebook, be it by Python or below it."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            for descriptor in (1, 2):
                os.dup2(nowhere.fileno(), descriptor)
            yield
        finally:
            for descriptor, was in zip((1, 2), kept, strict=True):
                os.dup2(was, descriptor)
                os.close(was)
