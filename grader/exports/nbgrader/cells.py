"""What nbgrader's cells are called, and what a result gives each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.assignment import Assignment, Exercise
from grader.results import ExerciseScore, Result, TestResult, TestStatus, Visibility, overridden
from grader.text import figure, visible

BONUS = "-bonus"  # bonus exercises are an nbgrader assignment of their own: a column of their own
_MOST_FAILURES = 4  # a cell tells so many different ones in full
_PLACES = 4  # fewer than results record of a test: a sum of thirds should be what it is


@dataclass(frozen=True)
class CellScore:
    """What a grade cell earned, of how much, and what its author should know about that."""

    score: float
    max_score: float
    message: str


def grade_id(exercise: str, aspect: str) -> str:
    """The name of the cell that holds the points of one aspect of an exercise, the same for ever."""
    return f"{exercise}-{aspect}"


def assignment_names(assignment: Assignment) -> dict[str, list[Exercise]]:
    """The nbgrader assignments that an assignment makes, and the exercises of each.

    An exercise that shares its file with one of the core goes with that file.
    """
    files = {exercise.file for exercise in assignment.core}
    core = [exercise for exercise in assignment.exercises.values() if exercise.file in files]
    rest = [exercise for exercise in assignment.exercises.values() if exercise.file not in files]
    names = {assignment.name: core, f"{assignment.name}{BONUS}": rest}
    return {name: exercises for name, exercises in names.items() if exercises}


def notebook_of(exercise: Exercise) -> str:
    """The name of the notebook, without its ending, that an exercise is worked on in."""
    return exercise.file.removesuffix(".py")


def cell_scores(result: Result, exercises: Iterable[Exercise]) -> dict[str, CellScore]:
    """The score of each grade cell of these exercises, by its ``grade_id``.

    What the instructor decided on an exercise is shared out over its cells by what they are worth.
    """
    decided = {score.name: score for score in result.exercises if score.override is not None}
    cells: dict[str, CellScore] = {}
    for exercise in exercises:
        own = [test for test in result.tests if test.exercise == exercise.name]
        for aspect in dict.fromkeys(test.aspect for test in own):
            tests = [test for test in own if test.aspect == aspect]
            cells[grade_id(exercise.name, aspect)] = _cell(tests, decided.get(exercise.name))
    return cells


def _cell(tests: list[TestResult], decision: ExerciseScore | None) -> CellScore:
    most = _points(test.max_score for test in tests)
    earned = _points(test.score for test in tests)
    passed = sum(test.status is TestStatus.PASSED for test in tests)
    head = f"{passed} of {len(tests)} tests pass: {figure(earned)} of {figure(most)} points."
    if decision is not None and decision.override is not None:
        earned = round(most * decision.score / decision.max_score, _PLACES) if decision.max_score else 0.0
        why = f": {visible(decision.override.comment)}" if decision.override.comment else ""
        head += (
            f"\nDecided by hand: {figure(decision.score)} of {figure(decision.max_score)} points for the "
            f"whole exercise, so {figure(earned)} here{why}."
        )
    return CellScore(earned, most, "\n\n".join([head, *_failures(tests)]))


def _points(points: Iterable[float]) -> float:
    return round(math.fsum(points), _PLACES)


def _failures(tests: list[TestResult]) -> list[str]:
    """What did not hold, each only once; of tests that wait for the due date only that they failed."""
    wrong = [test for test in tests if test.status is not TestStatus.PASSED]
    shown = [test for test in wrong if test.visibility is not Visibility.AFTER_DUE_DATE]
    told = list(dict.fromkeys(_failure(test) for test in shown))
    parts = told[:_MOST_FAILURES]
    if more := len(told) - len(parts):
        parts.append(f"{more} more did not pass.")
    if later := len(wrong) - len(shown):
        parts.append(f"{later} did not pass of which more is said after the due date.")
    return parts


def _failure(test: TestResult) -> str:
    message = visible(test.message, keep="\n")
    hint = f"\nThink about: {visible(test.hint, keep=chr(10))}" if test.hint else ""
    return f"{message}{hint}"


def notes(result: Result, assignment: Assignment) -> str:
    """What is to be said about the whole: what could not be examined, what was decided by hand."""
    titles: Mapping[str, str] = {name: exercise.title for name, exercise in assignment.exercises.items()}
    return "\n".join(part for part in (result.status_message, *overridden(result, titles)) if part)
