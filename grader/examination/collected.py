"""What a collected test is worth, read off its mark, its folder and the number of its cases."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import cast

import pytest

from grader.assignment import Assignment
from grader.examination.marks import MARK
from grader.examination.weights import visibility_of, whole_weights
from grader.results import Visibility
from grader.scoring import SuiteTest

_TEST = pytest.StashKey[SuiteTest]()


def exercises_of(definition: pytest.Function | pytest.Item) -> list[str]:
    """The exercises that a marked test belongs to."""
    mark = definition.get_closest_marker(MARK)
    return list(mark.kwargs["weights"]) if mark else []


def weigh(items: Iterable[pytest.Item], assignment: Assignment) -> list[SuiteTest]:
    """The suite's tests with their points; remembered on the items, see :func:`suite_test`.

    The tests of an exercise share its public points, or those it has besides, by their weights.
    """
    marked = [item for item in items if isinstance(item, pytest.Function) and item.get_closest_marker(MARK)]
    cases = Counter(_share(item) for item in marked)
    whole = whole_weights(marked)
    tests = []
    for item in marked:
        mark = cast(pytest.Mark, item.get_closest_marker(MARK))
        exercise, visibility = _exercise(item), visibility_of(mark, item.path)
        weight, everything = mark.kwargs["weights"][exercise], whole[exercise, visibility]
        part = weight / everything if everything else Fraction(0)
        points = _pool(assignment, exercise, visibility) * part / cases[_share(item)]
        test = SuiteTest(
            item.nodeid, exercise, mark.kwargs["aspect"], points, visibility, mark.kwargs["hint"]
        )
        item.stash[_TEST] = test
        tests.append(test)
    return tests


def _pool(assignment: Assignment, exercise: str, visibility: Visibility) -> int:
    """The points that an exercise's tests of one visibility share; none where there is no such exercise."""
    if exercise not in assignment.exercises:
        return 0  # check_points refuses such a test
    worth = assignment.exercises[exercise]
    visible = worth.public_points
    return visible if visibility is Visibility.VISIBLE else worth.points - visible


def by_exercise(items: list[pytest.Item], assigned: Iterable[str]) -> None:
    """Put one exercise's tests after another's, in the order in which they are assigned.

    Code that hangs in one must not eat the others' time, and what is explained first should be
    what a student does first.
    """

    def exercise(item: pytest.Item) -> str:
        test = suite_test(item)
        return test.exercise if test else ""

    order = list(dict.fromkeys([*assigned, *map(exercise, items)]))
    items.sort(key=lambda item: order.index(exercise(item)))


def suite_test(item: pytest.Item) -> SuiteTest | None:
    """What :func:`weigh` found for the item; None for a test that is not part of a suite."""
    return item.stash.get(_TEST, None)


def sentence(item: pytest.Item) -> str:
    """The property a test examines, in words: the first paragraph of its docstring."""
    text = inspect.getdoc(getattr(item, "function", item)) or item.name
    return " ".join(text.split("\n\n")[0].split())


def _exercise(item: pytest.Function) -> str:
    names = exercises_of(item)
    callspec = getattr(item, "callspec", None)
    return str(callspec.params["exercise"]) if callspec and "exercise" in callspec.params else names[0]


def _share(item: pytest.Function) -> tuple[str, str, str]:
    return (item.parent.nodeid if item.parent else "", item.originalname, _exercise(item))
