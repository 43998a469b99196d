"""A student's check: the public tests on their own code, and what to look at first."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import Assignment
from grader.candidate.interface import Candidate
from grader.errors import UsageError
from grader.examination.plugin import student_candidate
from grader.examination.session import ExamSession
from grader.examination.suite import PUBLIC, Suite, with_suite
from grader.results import TestStatus
from grader.scoring import Outcome, Scores, SuiteTest, score


@dataclass(frozen=True)
class Checked:
    """The points of the exercises that were checked, and the first test that did not pass."""

    scores: Scores
    failure: tuple[SuiteTest, Outcome] | None
    next_step: str
    seed: int


@dataclass(frozen=True)
class Examined:
    """Some tests of a suite, in its order, and what became of each of them, by its id."""

    tests: list[SuiteTest]
    outcomes: Mapping[str, Outcome]

    @property
    def failure(self) -> tuple[SuiteTest, Outcome] | None:
        """The first test that did not pass."""
        outcomes = ((test, self.outcomes[test.id]) for test in self.tests)
        return next(((test, outcome) for test, outcome in outcomes if not outcome.is_passed), None)


class UnknownExercise(UsageError):
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
    examined = examine(
        root,
        lambda: student_candidate(assignment, folder, assignment.limits.call_seconds),
        seed,
        lambda test: test.exercise in chosen,
        name=folder.name,
    )
    step = _next_step(chosen, examined.failure, assignment)
    return Checked(score(examined.tests, examined.outcomes, assignment), examined.failure, step, seed)


def examine(
    root: Path,
    candidate: Callable[[], Candidate],
    seed: int,
    chosen: Callable[[SuiteTest], bool],
    *,
    name: str = "exercises",
    folders: Sequence[str] = (PUBLIC,),
) -> Examined:
    """Run the ``chosen`` tests of the assignment in ``root`` on a candidate, in this process.

    The candidate is made once the suite is collected; ``name`` is the submission's, for its numbers.
    Raises InfrastructureFault when the tests themselves cannot be run.
    """

    def work(suite: Suite) -> Examined:
        outcomes = suite.examine(ExamSession(candidate(), seed, name), only=chosen)
        return Examined([test for test in suite.tests if chosen(test)], outcomes)

    return with_suite(root, work, folders)


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
