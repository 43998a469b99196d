"""Text that others wrote, made safe to show on any screen and to store in any file."""

from __future__ import annotations

import json
import re
import unicodedata

from rich.cells import cell_len, set_cell_size

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


def _shown(character: str) -> str:
    if unicodedata.category(character) in _UNPRINTABLE or character in _BIDI:
        return character.encode("unicode_escape").decode("ascii")
    return character


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


def as_json(document: object) -> str:
    """The document as one line of JSON in which no text is an order to a CI service."""
    return json.dumps(document).replace("##", "#\\u0023")


def _written_out(order: re.Match[str]) -> str:
    return f"\\x{ord(order[0].strip()[0]):02x}{order[0].strip()[1:]}"
