"""How a test says what it is worth: exercise, aspect, points, visibility, and a question to ask."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from grader.results import Visibility

MARK = "worth"


def aspect(
    name: str, *, hint: str | None = None, visibility: Visibility | None = None, **points: float | str
) -> pytest.MarkDecorator:
    """Mark a test as examining one aspect, for one exercise or several.

    ``points`` names each exercise with what the whole test is worth in it; its cases share that
    equally. A test for several exercises asks for the ``exercise`` fixture and runs once for each.
    ``visibility`` is that of the folder (tests/public: visible, otherwise hidden) unless said.
    """
    worth = {exercise: Fraction(str(value)) for exercise, value in points.items()}
    if not worth:
        raise ValueError("a test must say which exercise it belongs to, with its points")
    mark: Any = getattr(pytest.mark, MARK)
    decorator: pytest.MarkDecorator = mark(aspect=name, hint=hint, visibility=visibility, points=worth)
    return decorator
