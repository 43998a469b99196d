"""One submission in two halves: the same results, sooner, and the faults of a half are not lost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.examination.verdicts import InfrastructureFault
from grader.results import Visibility
from grader.run.halves import both, halves_of
from grader.scoring import SuiteTest

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])


def suite(**counts: int) -> list[SuiteTest]:
    return [
        SuiteTest(f"{exercise}-{number}", exercise, "parity", Fraction(1), Visibility.HIDDEN)
        for exercise, count in counts.items()
        for number in range(count)
    ]


def test_halves_are_balanced_and_keep_a_file_together() -> None:
    tests = suite(self_attention=5, cross_attention=5, split_heads=2, multi_head_attention=8)
    one, other = halves_of(tests, ASSIGNMENT)
    assert {"split_heads", "multi_head_attention"} == one
    assert {"self_attention", "cross_attention"} == other


def test_a_suite_of_one_file_leaves_the_second_half_empty() -> None:
    assert halves_of(suite(self_attention=3), ASSIGNMENT)[1] == frozenset()


def test_both_answers_come_back_in_order() -> None:
    assert both(lambda: {"half": 1}, lambda: {"half": 2}) == [{"half": 1}, {"half": 2}]


def fail() -> dict[str, object]:
    raise ValueError("ours")


def test_a_fault_in_the_second_half_is_raised_here() -> None:
    with pytest.raises(InfrastructureFault, match="ours"):
        both(dict, fail)


def test_a_fault_in_the_first_half_ends_the_second() -> None:
    with pytest.raises(ValueError, match="ours"):
        both(fail, lambda: {"slow": [0] * 10})
