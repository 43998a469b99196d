"""How a test says what it examines: exercise, aspect, weight, visibility, and a question to ask."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from grader.results import Visibility

MARK = "worth"


def aspect(
    name: str,
    *exercises: str,
    weight: float | str = 1,
    hint: str | None = None,
    visibility: Visibility | None = None,
    **weights: float | str,
) -> pytest.MarkDecorator:
    """Mark a test as examining one aspect, for one exercise or several.

    The visible tests of an exercise share its ``public_points``, the hidden ones the rest, each by its
    weight: a test of weight 2 is worth twice as much as one of weight 1, whatever that comes to. The
    cases of a test share its points equally. ``weight`` counts in all ``exercises``; ``weights`` names
    those in which another one does. A test for several exercises asks for the ``exercise`` fixture and
    runs once for each. ``visibility`` is that of the folder (tests/public: visible, otherwise hidden)
    unless said.

    Raises ValueError for a test of no exercise, and for a weight below 0.
    """
    exact = {
        one: Fraction(str(value)) for one, value in {**dict.fromkeys(exercises, weight), **weights}.items()
    }
    if not exact:
        raise ValueError("a test must say which exercise it belongs to")
    if min(exact.values()) < 0:
        raise ValueError("a test must weigh 0 or more")
    mark: Any = getattr(pytest.mark, MARK)
    decorator: pytest.MarkDecorator = mark(aspect=name, hint=hint, visibility=visibility, weights=exact)
    return decorator
