"""A student's check: the public tests on their own code, and what to look at first."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import Assignment
from grader.results import TestStatus
from grader.scoring import Outcome, Scores, SuiteTest, score

from .plugin import student_candidate
from .sitting import Sitting
from .suite import PUBLIC, Suite, with_suite


@dataclass(frozen=True)
class Checked:
    """The points of the exercises that were checked, and the first test that did not pass."""

    scores: Scores
    failure: tuple[SuiteTest, Outcome] | None
    next_step: str
    seed: int


class UnknownExercise(Exception):
    """There is no exercise of that name; the message says which there are."""


def check(
    root: Path, folder: Path, assignment: Assignment, exercise: str | None = None, seed: int | None = None
) -> Checked:
    """Run the public tests of all exercises, or one, on the code in ``folder``, in this process.

    Raises UnknownExercise, and InfrastructureFault when the tests themselves cannot be run.
    """
    if exercise is not None and exercise not in assignment.exercises:
        raise UnknownExercise(
            f"There is no exercise called {exercise!r}. The exercises are: {', '.join(assignment.exercises)}."
        )
    chosen = [exercise] if exercise else list(assignment.exercises)
    seed = secrets.randbelow(2**31) if seed is None else seed

    def work(suite: Suite) -> Checked:
        tests = [test for test in suite.tests if test.exercise in chosen]
        candidate = student_candidate(assignment, folder, assignment.limits.call_seconds)
        sitting = Sitting(candidate, seed, folder.name)
        outcomes = suite.examine(sitting, only=lambda test: test.exercise in chosen)
        failure = next(((test, outcomes[test.id]) for test in tests if not outcomes[test.id].is_passed), None)
        step = _next_step(chosen, failure, assignment)
        return Checked(score(tests, outcomes, assignment), failure, step, seed)

    return with_suite(root, work, folders=(PUBLIC,))


def _next_step(chosen: list[str], failure: tuple[SuiteTest, Outcome] | None, assignment: Assignment) -> str:
    if failure is None:
        which = f"of {chosen[0]} " if len(chosen) == 1 else ""
        return (
            f"All public tests {which}pass. They are not everything: "
            "ask yourself which sizes, masks and modes they leave out."
        )
    test, outcome = failure
    done = ""
    if len(chosen) > 1 and assignment.exercises[test.exercise].bonus:  # the core comes before it
        done = "All public tests of the core exercises pass; this is a bonus exercise, if you like.\n"
    if outcome.status is TestStatus.NOT_RUN:
        return f"{done}Put the file in place, then run this again."
    name = test.id.rpartition("::")[2].partition("[")[0]
    return (
        f"{done}Mend this one first, then run it alone: pytest -k '{name} and {test.exercise}'\n"
        f"Stuck? python -m grader hint {test.exercise}"
    )
