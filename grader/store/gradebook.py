"""The results of a class in their folder: what the tests gave, and the instructor's decisions on top.

The journal keeps the tests' own scores. Everything else that is written or shown has the overrides
applied, so that a row taken out of overrides.csv brings the tests' score back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from grader.assignment import Assignment
from grader.results import ExerciseScore, Override, Result, Status, TestResult
from grader.scoring import SCORE_PLACES, SuiteTest, round_half_up
from grader.store.files import write_result, write_scores
from grader.store.journal import Journal
from grader.store.overrides import Decision, Overrides


class Gradebook:
    """Where a run enters its results: the journal, a file for each submission, and scores.csv."""

    def __init__(
        self,
        out: Path,
        assignment: Assignment,
        journal: Journal,
        overrides: Overrides,
        tests: Sequence[SuiteTest],
        digest: str,
    ) -> None:
        """``tests`` and ``digest`` are those of the suite as it is now."""
        self._out = out
        self._assignment = assignment
        self._journal = journal
        self._overrides = overrides
        self._worth = {test.id: test.points for test in tests}
        self._digest = digest

    def enter(self, result: Result) -> Result:
        """Record a result that was just finished; the same as it counts, overrides applied."""
        self._journal.append(result)
        counted = self._counted(result)
        write_result(self._out, counted)
        return counted

    def refresh(self) -> None:
        """Write the result file of all that was finished earlier.

        A kill may have come between the journal's line and the file, or an override may have changed.
        """
        for result in self._journal.results.values():
            write_result(self._out, self._counted(result))

    def close(self) -> list[Result]:
        """Write scores.csv; the results of the class as they count, by id."""
        results = [self._counted(self._journal.results[id]) for id in sorted(self._journal.results)]
        write_scores(self._out, results)
        return results

    def _counted(self, result: Result) -> Result:
        decisions = self._overrides.get(result.submission, {})
        worth = self._worth if result.suite == self._digest else {}
        return decided(result, decisions, self._assignment, worth)


def decided(
    result: Result,
    decisions: Mapping[str, Decision],
    assignment: Assignment,
    worth: Mapping[str, Fraction],
) -> Result:
    """``result`` with the ``decisions`` on its exercises in the place of what the tests gave.

    The sums are made anew from exact points, each rounded once: ``worth`` has the points of each test;
    what it lacks counts as the result records it. A submission that could not be graded for a fault of
    ours has no score to decide about yet: it comes back as it is.
    """
    if not decisions or result.status is Status.INFRASTRUCTURE_ERROR:
        return result
    exact: dict[str, Fraction] = {}
    exercises = []
    for exercise in result.exercises:
        decision = decisions.get(exercise.name)
        if decision is None:
            exact[exercise.name] = _earned(result.tests, exercise.name, worth)
            exercises.append(exercise)
        else:
            exact[exercise.name] = decision.points
            exercises.append(_overridden(exercise, decision))
    bonus = {exercise.name for exercise in assignment.bonus}
    return result.model_copy(
        update={
            "exercises": exercises,
            "score": _rounded(points for name, points in exact.items() if name not in bonus),
            "bonus_score": _rounded(points for name, points in exact.items() if name in bonus),
        }
    )


def _overridden(exercise: ExerciseScore, decision: Decision) -> ExerciseScore:
    override = Override(suite_score=exercise.score, comment=decision.comment)
    return exercise.model_copy(update={"score": _rounded([decision.points]), "override": override})


def _earned(tests: Iterable[TestResult], exercise: str, worth: Mapping[str, Fraction]) -> Fraction:
    own = [test for test in tests if test.exercise == exercise and test.score]
    return sum((worth.get(test.id, Fraction(str(test.score))) for test in own), Fraction(0))


def _rounded(points: Iterable[Fraction]) -> float:
    return round_half_up(sum(points, Fraction(0)), SCORE_PLACES)
