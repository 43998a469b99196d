"""Text that others wrote, made safe to show, and figures written the way a person would."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from rich.cells import cell_len, set_cell_size

from grader.results import Result

# Characters that reorder what stands around them, so that a name can pose as another.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Controls (escape sequences start with one), lone surrogates, line and paragraph separators.
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


def visible(text: str, *, keep: str = "") -> str:
    """``text`` with every character that acts on the screen written out, such as ``\\x1b``.

    Written out are control characters (so no escape sequence survives), directional overrides,
    lone surrogates and line separators, apart from the characters in ``keep``. Use
    ``keep="\\n"`` where a message may have several lines.
    """
    return "".join(_shown(character) if character not in keep else character for character in text)


def one_line(text: str, width: int | None = None) -> str:
    """The first line of ``text`` that says something, safe to show, in at most ``width`` cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    line = visible(" ".join(first.split()))
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


def _shown(character: str) -> str:
    if unicodedata.category(character) in _UNPRINTABLE or character in _BIDI:
        return character.encode("unicode_escape").decode("ascii")
    return character
