"""What the weights of a suite's tests make together, also of those that were not collected."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from grader.examination.marks import MARK
from grader.results import Visibility


def visibility_of(mark: pytest.Mark, path: Path) -> Visibility:
    """What the mark says of a test in the file ``path``, or else its folder."""
    by_folder = Visibility.VISIBLE if "public" in path.parts else Visibility.HIDDEN
    return cast("Visibility | None", mark.kwargs["visibility"]) or by_folder


def whole_weights(marked: Iterable[pytest.Function]) -> dict[tuple[str, Visibility], Fraction]:
    """The sum of the tests' weights, by exercise and visibility, each test once whatever its cases.

    Tests beside the collected ones count as well: a selection must not change what a test is worth.
    """
    marks: dict[tuple[str, str], tuple[pytest.Mark, Path]] = {}
    modules: dict[str, tuple[ModuleType, Path]] = {}
    for item in marked:
        own = cast(pytest.Mark, item.get_closest_marker(MARK))
        marks[item.module.__name__, item.originalname] = own, item.path
        modules[item.module.__name__] = item.module, item.path
    for module, path in modules.values():
        for beside in _beside(module, path):
            for name, mark in _marked(beside):
                marks.setdefault((beside.__name__, name), (mark, path))
    whole: dict[tuple[str, Visibility], Fraction] = defaultdict(Fraction)
    for mark, path in marks.values():
        for exercise, weight in mark.kwargs["weights"].items():
            whole[exercise, visibility_of(mark, path)] += weight
    return whole


def _beside(module: ModuleType, path: Path) -> Iterator[ModuleType]:
    """The module of tests at ``path`` and those in its folder; what cannot be imported is left out."""
    yield module
    if module.__package__:
        for file in sorted(path.parent.glob("test_*.py")):
            with suppress(Exception):  # its own collection tells of it
                yield import_module(f"{module.__package__}.{file.stem}")


def _marked(module: ModuleType) -> Iterator[tuple[str, pytest.Mark]]:
    for name, thing in vars(module).items():
        if inspect.isfunction(thing) and thing.__module__ == module.__name__:
            for mark in getattr(thing, "pytestmark", []):
                if mark.name == MARK:
                    yield name, mark
