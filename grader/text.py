"""Text that others wrote, made safe to show on any screen and to store in any file."""

from __future__ import annotations

import unicodedata

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
