"""What a collected test is worth, read off its mark, its folder and the number of its cases."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import PurePath
from typing import cast

import pytest

from grader.examination.marks import MARK
from grader.results import Visibility
from grader.scoring import SuiteTest

_TEST = pytest.StashKey[SuiteTest]()


def exercises_of(definition: pytest.Function | pytest.Item) -> list[str]:
    """The exercises that a marked test belongs to."""
    mark = definition.get_closest_marker(MARK)
    return list(mark.kwargs["points"]) if mark else []


def weigh(items: Iterable[pytest.Item]) -> list[SuiteTest]:
    """The suite's tests with their points; remembered on the items, see :func:`suite_test`."""
    marked = [item for item in items if isinstance(item, pytest.Function) and item.get_closest_marker(MARK)]
    cases = Counter(_share(item) for item in marked)
    tests = []
    for item in marked:
        mark = cast(pytest.Mark, item.get_closest_marker(MARK))
        exercise = _exercise(item)
        points = cast(Fraction, mark.kwargs["points"][exercise]) / cases[_share(item)]
        visibility = mark.kwargs["visibility"] or _folder_visibility(item.path)
        test = SuiteTest(
            item.nodeid, exercise, mark.kwargs["aspect"], points, visibility, mark.kwargs["hint"]
        )
        item.stash[_TEST] = test
        tests.append(test)
    return tests


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


def _folder_visibility(path: PurePath) -> Visibility:
    return Visibility.VISIBLE if "public" in path.parts else Visibility.HIDDEN
