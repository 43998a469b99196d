"""Scores: exact sums, each figure rounded once, points only for tests that reported."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment import Assignment, load_assignment
from grader.results import TestStatus, Visibility
from grader.scoring import Outcome, Scores, ScoringError, SuiteTest, check_points, round_half_up, score

ROOT = Path(__file__).resolve().parents[2]
PASSED = Outcome(TestStatus.PASSED)
SCHOOL = Assignment.model_validate(
    {
        "name": "school",
        "title": "A small assignment",
        "exercises": {
            name: {"name": name, "title": name, "file": f"{name}.py", "defines": [name], **worth}
            for name, worth in {
                "first": {"points": 60, "public_points": 20},
                "second": {"points": 40, "public_points": 10},
                "extra": {"points": 15, "public_points": 5, "bonus": True},
            }.items()
        },
    }
)


def suite_test(
    exercise: str, points: Fraction | int | str, *, id: str = "", aspect: str = "parity", hidden: bool = False
) -> SuiteTest:
    visibility = Visibility.HIDDEN if hidden else Visibility.VISIBLE
    return SuiteTest(id or f"{exercise}-{points}-{hidden}", exercise, aspect, Fraction(points), visibility)


RIGHT_SUITE = [
    suite_test(exercise.name, points, hidden=hidden)
    for exercise in SCHOOL.exercises.values()
    for points, hidden in [
        (exercise.public_points, False),
        (exercise.points - exercise.public_points, True),
    ]
]


def all_pass(tests: list[SuiteTest]) -> Scores:
    return score(tests, {test.id: PASSED for test in tests}, SCHOOL)


@st.composite
def suites(draw: st.DrawFn) -> list[SuiteTest]:
    """Suites of up to twelve tests whose points are thirds, sevenths and the like."""
    worth = st.fractions(min_value=0, max_value=20, max_denominator=13)
    aspect = st.sampled_from(["parity", "shapes", "masking", "curiosity", "zeal"])
    kinds = draw(st.lists(st.tuples(st.sampled_from(list(SCHOOL.exercises)), worth, aspect), max_size=12))
    return [
        suite_test(exercise, points, id=f"test-{number}", aspect=aspect_name)
        for number, (exercise, points, aspect_name) in enumerate(kinds)
    ]


@st.composite
def gradings(draw: st.DrawFn) -> tuple[list[SuiteTest], dict[str, Outcome]]:
    """A suite, and outcomes for some of its tests and for one that is not in it."""
    tests = draw(suites())
    status = st.sampled_from([None, *TestStatus])
    drawn = {test.id: draw(status) for test in tests} | {"not-in-the-suite": TestStatus.PASSED}
    return tests, {id: Outcome(found) for id, found in drawn.items() if found}


def test_every_test_passed_earns_every_point() -> None:
    scores = all_pass(RIGHT_SUITE)
    assert (scores.score, scores.max_score) == (100.0, 100.0)


def test_bonus_stands_apart_from_the_core() -> None:
    scores = score(RIGHT_SUITE, {"extra-10-True": PASSED}, SCHOOL)
    assert (scores.score, scores.max_score, scores.bonus_score) == (0.0, 100.0, 10.0)


@pytest.mark.parametrize("status", [TestStatus.FAILED, TestStatus.ERROR, TestStatus.NOT_RUN])
def test_only_passed_earns(status: TestStatus) -> None:
    scores = score(RIGHT_SUITE, {test.id: Outcome(status) for test in RIGHT_SUITE}, SCHOOL)
    assert scores.score == 0.0
    assert {test.status for test in scores.tests} == {status}


def test_a_test_that_did_not_report_is_not_run_and_says_so() -> None:
    silent = score(RIGHT_SUITE, {}, SCHOOL).tests[0]
    assert (silent.status, silent.score, silent.max_score) == (TestStatus.NOT_RUN, 0.0, 20.0)
    assert "did not report" in silent.message


def test_a_reason_for_not_running_is_kept() -> None:
    outcome = Outcome(TestStatus.NOT_RUN, "no accelerator on this machine")
    assert score(RIGHT_SUITE, {RIGHT_SUITE[0].id: outcome}, SCHOOL).tests[0].message == outcome.message


def test_a_passed_test_carries_no_hint_and_a_failed_one_its_own() -> None:
    test = SuiteTest("t", "first", "masking", Fraction(1), Visibility.VISIBLE, hint="look at the mask")
    statuses = (TestStatus.PASSED, TestStatus.FAILED)
    found = [score([test], {"t": Outcome(status)}, SCHOOL).tests[0].hint for status in statuses]
    assert found == [None, "look at the mask"]


def test_three_thirds_make_exactly_one_and_each_shows_rounded() -> None:
    thirds = [suite_test("first", Fraction(1, 3), id=str(number)) for number in range(3)]
    scores = all_pass(thirds)
    assert scores.score == 1.0
    assert [test.score for test in scores.tests] == [0.333333] * 3


def test_the_total_is_rounded_once_and_not_summed_from_rounded_figures() -> None:
    halves = [suite_test("first", "0.005", id="a"), suite_test("second", "0.005", id="b")]
    scores = all_pass(halves)
    assert [exercise.score for exercise in scores.exercises] == [0.01, 0.01, 0.0]
    assert scores.score == 0.01


@pytest.mark.parametrize(
    ("value", "rounded"), [("0.125", 0.13), ("0.135", 0.14), ("2.675", 2.68), ("0.1249", 0.12), ("0", 0.0)]
)
def test_halves_go_up(value: str, rounded: float) -> None:
    assert round_half_up(Fraction(value), 2) == rounded


def test_aspects_are_of_the_core_in_their_fixed_order() -> None:
    aspects = ["zeal", "contract", "parity", "curiosity", "shapes"]
    tests = [suite_test("first", 1, id=aspect, aspect=aspect) for aspect in aspects]
    bonus = [suite_test("extra", 1, id=f"bonus {aspect}", aspect=aspect) for aspect in ("shapes", "dropout")]
    scores = all_pass([*tests, *bonus])
    assert [aspect.name for aspect in scores.aspects] == ["shapes", "parity", "contract", "curiosity", "zeal"]
    assert {aspect.max_score for aspect in scores.aspects} == {1.0}


@given(gradings())
def test_no_figure_exceeds_its_maximum(grading: tuple[list[SuiteTest], dict[str, Outcome]]) -> None:
    scores = score(*grading, SCHOOL)
    for part in (scores.exercises, scores.aspects, scores.tests):
        assert all(0 <= figure.score <= figure.max_score for figure in part)
    assert 0 <= scores.score <= scores.max_score


@given(gradings(), st.randoms(use_true_random=False))
def test_the_order_of_tests_changes_no_figure(
    grading: tuple[list[SuiteTest], dict[str, Outcome]], random: Random
) -> None:
    tests, outcomes = grading
    before = score(tests, outcomes, SCHOOL)
    shuffled = sorted(tests, key=lambda test: random.random())
    after = score(shuffled, outcomes, SCHOOL)
    assert (after.score, after.bonus_score) == (before.score, before.bonus_score)
    assert (after.exercises, after.aspects) == (before.exercises, before.aspects)


@given(gradings())
def test_the_score_is_the_exact_sum_of_what_passed_rounded_once(
    grading: tuple[list[SuiteTest], dict[str, Outcome]],
) -> None:
    tests, outcomes = grading
    passed = {id for id, outcome in outcomes.items() if outcome.status is TestStatus.PASSED}
    exact = sum(
        (test.points for test in tests if test.id in passed and test.exercise != "extra"), Fraction(0)
    )
    assert abs(Fraction(score(tests, outcomes, SCHOOL).score) - exact) <= Fraction(1, 200) + Fraction(
        1, 10**9
    )


@given(st.integers(1, 60))
def test_equal_shares_of_any_number_make_the_whole(parts: int) -> None:
    shares = [suite_test("first", Fraction(100, parts), id=str(number)) for number in range(parts)]
    assert all_pass(shares).score == 100.0


@pytest.mark.parametrize("public_only", [True, False])
def test_a_suite_that_adds_up_is_accepted(public_only: bool) -> None:
    tests = [test for test in RIGHT_SUITE if not public_only or test.visibility is Visibility.VISIBLE]
    check_points(tests, SCHOOL, public_only=public_only)


def test_hidden_points_are_not_asked_for_in_a_students_copy() -> None:
    visible = [test for test in RIGHT_SUITE if test.visibility is Visibility.VISIBLE]
    with pytest.raises(ScoringError, match="first: all its tests make 20 points, they should make 60"):
        check_points(visible, SCHOOL, public_only=False)


def test_a_sum_that_is_a_hair_off_is_refused_exactly() -> None:
    almost = [suite_test("first", Fraction(1, 10**12), id="hair"), *RIGHT_SUITE]
    with pytest.raises(
        ScoringError, match="first: its visible tests make 20000000000001/1000000000000 points"
    ):
        check_points(almost, SCHOOL, public_only=True)


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        (suite_test("frist", 0), "'frist' is not one of first, second, extra"),
        (suite_test("first", 0, id=RIGHT_SUITE[0].id), "two tests have this id"),
        (suite_test("first", -1), "worth -1 points"),
    ],
    ids=["unknown exercise", "repeated id", "negative points"],
)
def test_a_faulty_suite_is_neither_accepted_nor_scored(extra: SuiteTest, complaint: str) -> None:
    with pytest.raises(ScoringError, match=complaint):
        check_points([*RIGHT_SUITE, extra], SCHOOL, public_only=False)
    with pytest.raises(ScoringError, match=complaint):
        score([*RIGHT_SUITE, extra], {}, SCHOOL)


def test_the_assignment_as_shipped_can_be_met() -> None:
    assignment = load_assignment(ROOT)
    tests = [
        suite_test(exercise.name, points, hidden=hidden)
        for exercise in assignment.exercises.values()
        for points, hidden in [
            (exercise.public_points, False),
            (exercise.points - exercise.public_points, True),
        ]
    ]
    check_points(tests, assignment, public_only=False)
    assert score(tests, {}, assignment).max_score == 100.0
