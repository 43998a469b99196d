"""Two gradings side by side: each change is found, has its cause, and its parts add up to it."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from grader.results import Environment, Result, Status, TestStatus, Visibility
from grader.scoring import Outcome, SuiteTest, score
from grader.store.comparison import Cause, Change, compared
from grader.store.gradebook import decided
from grader.store.overrides import Decision
from tests.grader.test_scoring import SCHOOL

HERE = Environment(python="3.11", torch="2.13", isolation="process", device="cpu", seed=1)


def suite(**points: Fraction | int) -> list[SuiteTest]:
    """Tests by name and points; ``first_...`` belongs to the exercise ``first``. ``x__1`` is a case of x."""
    return [
        SuiteTest(
            f"t.py::{name.replace('__', '[')}{']' * ('__' in name)}",
            name.partition("_")[0],
            "parity",
            Fraction(worth),
            Visibility.HIDDEN,
        )
        for name, worth in points.items()
    ]


def result(
    tests: list[SuiteTest], *failing: str, status: Status = Status.GRADED, source: str = "source"
) -> Result:
    wrong = Outcome(TestStatus.FAILED, "It must add up.\nIt does not.")
    outcomes = {
        test.id: wrong if any(name in test.id for name in failing) else Outcome(TestStatus.PASSED)
        for test in tests
    }
    scores = score(tests, outcomes, SCHOOL)
    return Result(
        submission="ann",
        assignment="school",
        status=status,
        score=scores.score,
        max_score=scores.max_score,
        bonus_score=scores.bonus_score,
        exercises=scores.exercises,
        tests=scores.tests,
        environment=HERE,
        suite="suite",
        source=source,
        started_at=datetime(2026, 1, 2, tzinfo=UTC),
        duration_s=0.5,
    )


def by_hand(result: Result, comment: str = "as agreed", **points: Fraction | int) -> Result:
    decisions = {name: Decision(Fraction(worth), comment) for name, worth in points.items()}
    return decided(result, decisions, SCHOOL, {})


def change(before: Result, after: Result) -> Change:
    comparison = compared({"ann": before}, {"ann": after}, suite="new", seed=1, graded=1, gone=[], faulty={})
    assert (len(comparison.changed), comparison.unchanged) == (1, 0)
    return comparison.changed[0]


TWO = suite(first_a=40, first_b__1=10, first_b__2=10, second_c=40)


def test_the_cases_of_a_test_that_went_the_same_way_are_one_reason() -> None:
    found = change(result(TWO), result(TWO, "first_b", "second_c"))
    assert found.difference == -60
    told = [(r.exercise, r.test, r.cases, r.before, r.after, r.difference, r.words) for r in found.reasons]
    assert told == [
        ("first", "t.py::first_b", 2, "passed", "failed", -20, "It must add up."),
        ("second", "t.py::second_c", 1, "passed", "failed", -40, "It must add up."),
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (suite(first_a=40), suite(first_a=40, first_n=20), [(Cause.TEST, "", "passed", 20.0)]),
        (suite(first_a=40, first_n=20), suite(first_a=40), [(Cause.TEST, "passed", "", -20.0)]),
        (suite(first_a=40), suite(first_a=45), [(Cause.POINTS, "passed", "passed", 5.0)]),
        (suite(first_a=1, extra_e=2), suite(first_a=1, extra_e=3), [(Cause.POINTS, "passed", "passed", 1.0)]),
    ],
    ids=["new test", "test gone", "more points", "bonus"],
)
def test_a_suite_that_changed_is_told(
    before: list[SuiteTest], after: list[SuiteTest], told: list[tuple[object, ...]]
) -> None:
    reasons = change(result(before), result(after)).reasons
    assert [(one.cause, one.before, one.after, one.difference) for one in reasons] == told


def test_points_that_moved_between_exercises_are_a_change() -> None:
    before = result(suite(first_a=50, second_c=50))
    found = change(before, result(suite(first_a=60, second_c=40)))
    assert found.difference == 0
    assert [one.difference for one in found.reasons] == [10, -10]


def test_another_source_and_status_are_told_first() -> None:
    rejected = result(TWO, "t.py", status=Status.REJECTED, source="other")
    causes = [one.cause for one in change(result(TWO), rejected).reasons]
    assert causes[:2] == [Cause.SUBMISSION, Cause.STATUS]


def test_what_was_not_graded_for_a_fault_of_ours_had_no_score() -> None:
    broken = result(TWO, "t.py", status=Status.INFRASTRUCTURE_ERROR)
    found = change(broken, result(TWO))
    assert (found.before.score, found.after.score) == (None, 100)
    assert [(one.cause, one.before, one.after) for one in found.reasons] == [
        (Cause.STATUS, "infrastructure_error", "graded")
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {"first": 50}, ("", 50.0, -10.0)),
        ({"first": 50}, {}, (50.0, "", 10.0)),
        ({"first": 50}, {"first": 55}, (50.0, 55.0, 5.0)),
    ],
    ids=["added", "removed", "changed"],
)
def test_a_decision_is_the_reason_where_there_is_one(
    before: dict[str, int], after: dict[str, int], told: tuple[object, ...]
) -> None:
    (reason,) = change(by_hand(result(TWO), **before), by_hand(result(TWO), **after)).reasons
    assert (reason.before, reason.after, reason.difference) == told
    assert (reason.cause, reason.exercise, reason.words) == (Cause.OVERRIDE, "first", "as agreed")


def test_under_a_decision_the_tests_change_nothing() -> None:
    before, after = by_hand(result(TWO), first=50), by_hand(result(TWO, "first_b"), first=50)
    comparison = compared({"ann": before}, {"ann": after}, suite="", seed=1, graded=1, gone=[], faulty={})
    assert (comparison.changed, comparison.unchanged) == ([], 1)


# --- decisions in the sums ------------------------------------------------------------------------


def test_a_decision_replaces_the_score_and_keeps_what_the_tests_gave() -> None:
    tests = [*TWO, *suite(extra_e=15)]
    found = by_hand(result(tests, "first_b"), first=50, extra=3)
    scores = {one.name: (one.score, one.override and one.override.suite_score) for one in found.exercises}
    assert scores == {"first": (50, 40), "second": (40, None), "extra": (3, 15)}
    assert (found.score, found.bonus_score) == (90, 3)


def test_sums_with_decisions_are_exact_and_rounded_once() -> None:
    tests = suite(first_a=60, **{f"second_c__{case}": Fraction(1, 48) for case in range(6)})
    decisions = {"first": Decision(Fraction(1), "")}  # 1/8 + 1 is 1.125; six times 0.020833 is less
    worth = {test.id: test.points for test in tests}
    assert decided(result(tests), decisions, SCHOOL, worth).score == 1.13


def test_a_fault_of_ours_leaves_nothing_to_decide_about() -> None:
    broken = result(TWO, "t.py", status=Status.INFRASTRUCTURE_ERROR)
    assert by_hand(broken, first=50) == broken
