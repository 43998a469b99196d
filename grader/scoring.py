"""From test results to exercise, aspect and total scores: exact sums, each figure rounded once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from grader.assignment import Assignment
from grader.errors import HeadstartError
from grader.results import AspectScore, ExerciseScore, TestResult, TestStatus, Visibility

ASPECTS = ("shapes", "masking", "parity", "gradients", "dropout", "device", "contract")
LOOKS_LIKE = "It looks like: "  # before the line of a message that holds the diagnosis in words
DID_NOT_REPORT = "This test did not report a result, so it earns no points."

SCORE_PLACES = 2
_TEST_PLACES = 6


class ScoringError(HeadstartError):
    """The suite and the assignment disagree about points; the message says where and what to try."""


@dataclass(frozen=True)
class SuiteTest:
    """A test as it was collected. What it is worth is decided here, before any submission runs."""

    id: str
    exercise: str
    aspect: str
    points: Fraction
    visibility: Visibility
    hint: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What the examiner saw of one test on one submission. It holds no points on purpose."""

    status: TestStatus
    message: str = ""
    diagnosis: str | None = None
    hint: str | None = None
    duration_s: float = 0.0
    device: str = "cpu"

    @property
    def is_passed(self) -> bool:
        return self.status is TestStatus.PASSED

    def lasting(self, duration_s: float) -> Outcome:
        """The same outcome, with the seconds it took."""
        return replace(self, duration_s=round(duration_s, 6))


@dataclass(frozen=True)
class Scores:
    """A submission's figures. ``score`` and ``max_score`` count the core exercises, bonus is apart.

    ``exercises`` has every exercise in the assignment's order, ``tests`` every test in the suite's.
    """

    score: float
    max_score: float
    bonus_score: float
    exercises: list[ExerciseScore]
    aspects: list[AspectScore]
    tests: list[TestResult]


def check_points(tests: Sequence[SuiteTest], assignment: Assignment, *, public_only: bool) -> None:
    """Check that the suite is worth exactly what the assignment promises.

    For each exercise the visible tests make ``public_points`` and, unless ``public_only``, all
    tests together make ``points``.

    Raises ScoringError, with one line a problem, when a sum is off, a test belongs to no
    exercise, two tests share an id, or a test is worth less than nothing.
    """
    problems = _faults(tests, assignment)
    for name, exercise in assignment.exercises.items():
        own = [test for test in tests if test.exercise == name]
        visible = _total(test.points for test in own if test.visibility is Visibility.VISIBLE)
        if visible != exercise.public_points:
            problems.append(
                f"{name}: its visible tests make {visible} points, they should make {exercise.public_points}"
            )
        everything = _total(test.points for test in own)
        if not public_only and everything != exercise.points:
            problems.append(
                f"{name}: all its tests make {everything} points, they should make {exercise.points}"
            )
    _refuse(problems)


def score(tests: Sequence[SuiteTest], outcomes: Mapping[str, Outcome], assignment: Assignment) -> Scores:
    """Score one submission.

    Points come from ``tests``, the collected suite: only ``passed`` earns, a test without an
    outcome is ``not_run``, and an outcome for an id outside the suite is ignored.

    Raises ScoringError when the suite itself is at fault (see check_points).
    """
    _refuse(_faults(tests, assignment))
    earned = {test.id: _earned(test, outcomes.get(test.id)) for test in tests}
    core_names = {exercise.name for exercise in assignment.core}
    core = [test for test in tests if test.exercise in core_names]
    bonus = [test for test in tests if test.exercise not in core_names]

    def sums(part: Sequence[SuiteTest]) -> tuple[float, float]:
        exact = _total(earned[test.id] for test in part), _total(test.points for test in part)
        return round_half_up(exact[0], SCORE_PLACES), round_half_up(exact[1], SCORE_PLACES)

    exercises = []
    for name in assignment.exercises:
        got, most = sums([test for test in tests if test.exercise == name])
        exercises.append(ExerciseScore(name=name, score=got, max_score=most))
    aspects = []
    for name in _aspect_order(core):
        got, most = sums([test for test in core if test.aspect == name])
        aspects.append(AspectScore(name=name, score=got, max_score=most))
    got, most = sums(core)
    return Scores(
        score=got,
        max_score=most,
        bonus_score=sums(bonus)[0],
        exercises=exercises,
        aspects=aspects,
        tests=[_test_result(test, outcomes.get(test.id)) for test in tests],
    )


def round_half_up(value: Fraction, places: int) -> float:
    """``value``, not negative, rounded to ``places`` decimals, a half going up."""
    scale = 10**places
    return float(Fraction(math.floor(value * scale + Fraction(1, 2)), scale))


def _total(points: Iterable[Fraction]) -> Fraction:
    return sum(points, Fraction(0))


def _earned(test: SuiteTest, outcome: Outcome | None) -> Fraction:
    passed = outcome is not None and outcome.status is TestStatus.PASSED
    return test.points if passed else Fraction(0)


def _aspect_order(tests: Sequence[SuiteTest]) -> list[str]:
    """The aspects that occur: the usual ones in their fixed order, then others by name."""
    present = {test.aspect for test in tests}
    return [name for name in ASPECTS if name in present] + sorted(present.difference(ASPECTS))


def _test_result(test: SuiteTest, outcome: Outcome | None) -> TestResult:
    outcome = outcome or Outcome(TestStatus.NOT_RUN, DID_NOT_REPORT)
    wrong = outcome.status in (TestStatus.FAILED, TestStatus.ERROR)
    silent = outcome.status is TestStatus.NOT_RUN and not outcome.message
    return TestResult(
        id=test.id,
        exercise=test.exercise,
        aspect=test.aspect,
        status=outcome.status,
        score=round_half_up(_earned(test, outcome), _TEST_PLACES),
        max_score=round_half_up(test.points, _TEST_PLACES),
        visibility=test.visibility,
        message=DID_NOT_REPORT if silent else outcome.message,
        diagnosis=outcome.diagnosis,
        hint=(outcome.hint or test.hint) if wrong else None,
        duration_s=outcome.duration_s,
        device=outcome.device,
    )


def _faults(tests: Sequence[SuiteTest], assignment: Assignment) -> list[str]:
    """What makes a suite unusable whatever its sums are, one sentence each."""
    repeated = [id for id, count in Counter(test.id for test in tests).items() if count > 1]
    return [
        *(f"{id}: two tests have this id, every test needs its own" for id in repeated),
        *(
            f"{test.id}: its exercise {test.exercise!r} is not one of {', '.join(assignment.exercises)}"
            for test in tests
            if test.exercise not in assignment.exercises
        ),
        *(
            f"{test.id}: it is worth {test.points} points, it should be 0 or more"
            for test in tests
            if test.points < 0
        ),
    ]


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise ScoringError(
            "The tests and assignment.toml do not agree about points.\n"
            + "".join(f"  {problem}\n" for problem in problems)
            + "Change the marks on these tests or the figures in assignment.toml, then try again."
        )
