"""From bytes to Python source, and from source to a syntax tree, with every fault in words."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings

from grader.submissions.names import shown

_BYTE_ORDER_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Codecs that Python calls text but no editor writes; some are slow enough to stall on a large file.
_NOT_AN_EDITORS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
)
_COOKIE = re.compile(r"^([ \t\f]*#.*?coding[:=][ \t]*)([-\w.]+)", re.ASCII)  # PEP 263
_BLANK_OR_COMMENT = re.compile(r"^[ \t\f]*(#|$)")
_AS_UTF8 = "Save it again as UTF-8 (in most editors: Save with encoding) and hand it in again."
_LINE_SHOWN = 100  # characters


class SourceError(Exception):
    """A file is no Python source; the message is the rest of a sentence that begins with its name."""


def decode(raw: bytes) -> str:
    """The text of a Python file: BOM removed, PEP 263 cookie honoured, newlines made ``\\n``.

    Raises SourceError when it is empty or is no text that Python could read.
    """
    if raw.startswith(_BYTE_ORDER_MARKS):
        raise SourceError(f"is saved as UTF-16 or UTF-32, which Python does not read. {_AS_UTF8}")
    if b"\0" in raw:
        raise SourceError(
            f"contains NUL bytes: it is damaged, or saved as UTF-16, and Python does not read it. {_AS_UTF8}"
        )
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        if codecs.lookup(encoding).name.replace("_", "-") in _NOT_AN_EDITORS:
            raise SourceError(f"declares the encoding {encoding}, which is not used for source. {_AS_UTF8}")
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"is not {error.encoding.upper()} text: byte 0x{raw[error.start]:02x} in line {line} has no "
            f"meaning there. {_AS_UTF8}"
        ) from error
    except (SyntaxError, LookupError, UnicodeError) as error:
        reason = shown(str(error)) or "its encoding is unknown"
        raise SourceError(f"cannot be read as text: {reason}. {_AS_UTF8}") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise SourceError("is empty. Check that it was saved, and hand it in again.")
    return text


def to_bytes(text: str) -> bytes:
    """``text`` as Python can import it: UTF-8 without BOM, and a cookie that says so."""
    lines = text.removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines[:2]):
        if _COOKIE.match(line):
            lines[number] = _COOKIE.sub(r"\g<1>utf-8", line)
            break
        if not _BLANK_OR_COMMENT.match(line):
            break  # a cookie in the second line counts only below a comment
    return "\n".join(lines).encode("utf-8", "replace")


def parse(text: str) -> ast.Module:
    """The syntax tree of Python source. Raises SourceError with place, line and reason in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes: none of the grader's business
            return ast.parse(text)
    except SyntaxError as error:
        raise SourceError(in_words(error, text)) from error
    except (RecursionError, MemoryError) as error:
        raise SourceError(
            "is nested too deeply for Python to read: some expression has thousands of parts. "
            "Split it into several statements."
        ) from error
    except (ValueError, UnicodeError) as error:
        raise SourceError(
            f"is not valid Python: {shown(str(error))}. Mend it and hand it in again."
        ) from error


def in_words(error: SyntaxError, text: str) -> str:
    """What a student needs of a syntax error: the reason, the line and column, the line itself."""
    reason = {
        TabError: "tabs and spaces are mixed in the indentation",
        IndentationError: f"the indentation does not fit ({shown(error.msg or '')})",
    }.get(type(error), shown(error.msg or "invalid syntax"))
    place = ""
    if error.lineno:
        column = f", column {error.offset}" if error.offset and error.offset > 0 else ""
        place = f" in line {error.lineno}{column}"
        lines = text.split("\n")
        line = lines[error.lineno - 1].strip() if error.lineno <= len(lines) else ""
        if line:
            place += f": `{shown(line[:_LINE_SHOWN])}`"
    advice = {
        TabError: "Indent with spaces only",
        IndentationError: "Line it up with the lines around it",
    }.get(type(error), "Mend it")
    return f"is not valid Python: {reason}{place}. {advice} and hand it in again."
