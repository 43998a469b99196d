"""Running a collected test without pytest's protocol, which costs more than many of the tests do.

Only for tests whose fixtures are plain functions of one test: they are called as pytest would call
them. Anything else (a fixture that yields, a wider scope, set-up functions) is left to pytest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

_PLAN = pytest.StashKey["Callable[[], None] | None"]()


def directly(item: pytest.Item) -> Callable[[], None] | None:
    """What runs the test, fixtures and all; None when pytest has to do it."""
    if _PLAN not in item.stash:
        item.stash[_PLAN] = _plan(item)
    return item.stash[_PLAN]


def _plan(item: pytest.Item) -> Callable[[], None] | None:
    if not isinstance(item, pytest.Function) or item.cls is not None:
        return None
    info = item._fixtureinfo
    given = item.callspec.params if hasattr(item, "callspec") else {}
    fixtures: dict[str, Callable[..., Any]] = {}
    for name in info.names_closure:
        if name in given or name == "request":
            continue
        definition = info.name2fixturedefs.get(name, ())[-1:]
        if (
            not definition
            or definition[0].scope != "function"
            or inspect.isgeneratorfunction(definition[0].func)
        ):
            return None
        if getattr(definition[0], "params", None) is not None:
            return None
        fixtures[name] = definition[0].func
    wanted = {name: tuple(inspect.signature(made).parameters) for name, made in fixtures.items()}
    function, arguments, request = item.obj, info.argnames, item._request

    def run() -> None:
        values: dict[str, Any] = {**given, "request": request}

        def value(name: str) -> Any:
            if name not in values:
                values[name] = fixtures[name](**{inner: value(inner) for inner in wanted[name]})
            return values[name]

        function(**{name: value(name) for name in arguments})

    return run
