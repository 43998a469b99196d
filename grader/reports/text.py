"""Text that others wrote, made safe to show, and figures written the way a person would."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

from rich.cells import cell_len, set_cell_size

from grader.results import Result
from grader.text import visible

__all__ = ["as_json", "figure", "one_line", "visible"]

# What a CI service takes from a log as an order: GitHub at the start of a line, Azure anywhere in it.
_ORDER = re.compile(r"^\s*::|##(?=\[|vso\[)", re.IGNORECASE)


def one_line(text: str, width: int | None = None) -> str:
    """The first line of ``text`` that says something, safe to show, in at most ``width`` cells.

    Safe also in the log of a CI service: what would be an order there is written out.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    line = _ORDER.sub(_written_out, visible(" ".join(first.split())))
    if width is None or cell_len(line) <= width:
        return line
    return "" if width < 1 else set_cell_size(line, width - 1).rstrip() + "…"


def figure(points: float) -> str:
    """Points as a person writes them, to two decimals at most: ``25``, ``78.5``, ``31.67``."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def overridden(result: Result, titles: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """What was decided by hand on each exercise, and what the tests gave there, as one clause each."""
    return [
        f"{titles.get(exercise.name, exercise.name)} {figure(exercise.score)} by hand, the tests gave "
        f"{figure(override.suite_score)}" + (f": {override.comment}" if override.comment else "")
        for exercise in result.exercises
        if (override := exercise.override)
    ]


def as_json(document: object) -> str:
    """The document as one line of JSON in which no text is an order to a CI service."""
    return json.dumps(document).replace("##", "#\\u0023")


def _written_out(order: re.Match[str]) -> str:
    return f"\\x{ord(order[0].strip()[0]):02x}{order[0].strip()[1:]}"
