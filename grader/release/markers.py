"""Where a solution stands in its source: the lines between BEGIN SOLUTION and END SOLUTION.

A marker is a comment alone on its line. What looks like a marker and is not one is refused,
because a marker that is passed over publishes the answer.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NoReturn

from grader.errors import HeadstartError

_BEGIN = re.compile(r"### BEGIN SOLUTION(?::\s*(?P<sentence>\S.*))?")
_END = re.compile(r"### END SOLUTION")
_SHOUTED = re.compile(r"###\s*(BEGIN|END)\b")
_IN_TEXT = re.compile(r"(BEGIN|END) SOLUTION|#\s*(?i:begin|end)[\s_-]*(?i:solution)")
_SPELLINGS = (
    "beginsolution",
    "endsolution",
    "solutionbegin",
    "solutionend",
    "beginofsolution",
    "endofsolution",
)
_HOW = "Write exactly '### BEGIN SOLUTION', '### BEGIN SOLUTION: sentence' or '### END SOLUTION'."
_NEAR = 0.85  # share of letters in common from which a comment counts as a misspelt marker

_LAYOUT = {
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENDMARKER,
}


class MarkerError(HeadstartError):
    """A marker cannot be trusted; the message names file and line, why, and what to try."""


@dataclass(frozen=True)
class Block:
    """One solution block. Line numbers count from 1 and are those of the two markers.

    ``sentence`` is what the opening marker says after its colon; ``lines`` is what stands
    between the markers, unchanged.
    """

    begin: int
    end: int
    indent: str
    sentence: str | None
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Marker:
    line: int
    indent: str
    opens: bool
    sentence: str | None = None


def parse(source: str, name: str) -> list[Block]:
    """The solution blocks of Python ``source``, in order; ``name`` is the file as messages should call it.

    Raises MarkerError for source that is not Python, for markers that are unclosed, unopened,
    nested, misspelt, not alone on their line, inside a string or differently indented, and for
    blocks that are empty, dedented or outside a function.
    """
    tokens, tree = _read(source, name)
    lines = source.split("\n")
    blocks = []
    for opening, closing in _pairs(list(_markers(tokens, name)), name):
        block = Block(
            begin=opening.line,
            end=closing.line,
            indent=opening.indent,
            sentence=opening.sentence,
            lines=tuple(lines[opening.line : closing.line - 1]),
        )
        _check_code(block, tokens, tree, name)
        blocks.append(block)
    return blocks


def tokens_of(source: str) -> list[tokenize.TokenInfo]:
    """The tokens of ``source``. Raises SyntaxError or tokenize.TokenError where it is not Python."""
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def _read(source: str, name: str) -> tuple[list[tokenize.TokenInfo], ast.Module]:
    try:
        return tokens_of(source), ast.parse(source)
    except (SyntaxError, tokenize.TokenError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise MarkerError(
            f"{name}:{line}: this is not valid Python ({error}), so its solution blocks cannot be found. "
            "Mend the syntax and try again."
        ) from error


def _markers(tokens: Sequence[tokenize.TokenInfo], name: str) -> Iterator[_Marker]:
    for token in tokens:
        number, column = token.start
        if token.type != tokenize.COMMENT:
            if token.type not in _LAYOUT and (found := _IN_TEXT.search(token.string)):
                number += token.string.count("\n", 0, found.start())
                _refuse(
                    name,
                    number,
                    "a marker stands inside a string",
                    "there it marks nothing and would be published",
                    "Move it to a comment line of its own, or write the text differently.",
                )
            continue
        comment = token.string.rstrip()
        opening = _BEGIN.fullmatch(comment)
        if opening or _END.fullmatch(comment):
            before = token.line[:column]
            if before.strip():
                _refuse(
                    name,
                    number,
                    "a marker shares its line with code",
                    "whole lines are cut out, not parts of one",
                    "Give the marker a line of its own.",
                )
            yield _Marker(number, before, bool(opening), opening["sentence"] if opening else None)
        elif _looks_like_a_marker(comment):
            _refuse(
                name,
                number,
                f"{comment!r} looks like a marker but is not one",
                "a marker that is passed over publishes the answer",
                _HOW,
            )


def _looks_like_a_marker(comment: str) -> bool:
    if _SHOUTED.match(comment):
        return True
    words = re.findall(r"[a-z]+", comment.lower())[:3]
    starts = list(accumulate(words))
    return any(
        SequenceMatcher(None, start, spelling).ratio() >= _NEAR for start in starts for spelling in _SPELLINGS
    )


def _pairs(markers: Sequence[_Marker], name: str) -> Iterator[tuple[_Marker, _Marker]]:
    opening: _Marker | None = None
    for marker in markers:
        if marker.opens and opening:
            _refuse(
                name,
                marker.line,
                f"a solution block opens inside the one opened on line {opening.line}",
                "blocks cannot be nested",
                "Close the outer block first, or drop the inner markers.",
            )
        elif marker.opens:
            opening = marker
        elif opening is None:
            _refuse(
                name,
                marker.line,
                "END SOLUTION closes a block that was never opened",
                "the answer above it would be published",
                "Add '### BEGIN SOLUTION' where the answer starts.",
            )
        elif marker.indent != opening.indent:
            _refuse(
                name,
                marker.line,
                f"this marker is not indented as its BEGIN on line {opening.line}",
                "it is then unclear what the block holds",
                "Indent both markers as the code between them.",
            )
        else:
            yield opening, marker
            opening = None
    if opening:
        _refuse(
            name,
            opening.line,
            "the solution block opened here is never closed",
            "it is then unclear where the answer ends",
            "Add '### END SOLUTION' below the answer.",
        )


def _check_code(block: Block, tokens: Sequence[tokenize.TokenInfo], tree: ast.Module, name: str) -> None:
    starts = _logical_starts(block, tokens)
    if not starts:
        _refuse(
            name,
            block.begin,
            "this solution block holds no code",
            "there is nothing to take out for the student",
            "Put the answer between the markers, or drop both.",
        )
    for line, column in starts:
        if column < len(block.indent):
            _refuse(
                name,
                line,
                "this line of the solution block stands left of its markers",
                "the stub would end up at another depth than the answer",
                "Indent both markers as the code.",
            )
    if not _inside_a_function(tree, starts[0][0]):
        _refuse(
            name,
            block.begin,
            "this solution block is not inside a function",
            "its stub would already fail when the file is imported",
            "Keep it within the body of a function or method.",
        )


def _logical_starts(block: Block, tokens: Sequence[tokenize.TokenInfo]) -> list[tuple[int, int]]:
    """Line and column of each statement's first token within the block."""
    starts: list[tuple[int, int]] = []
    fresh = True
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            fresh = True
        elif token.type not in _LAYOUT:
            if fresh and block.begin < token.start[0] < block.end:
                starts.append(token.start)
            fresh = False
    return starts


def _inside_a_function(tree: ast.Module, line: int) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or 0)
        for node in ast.walk(tree)
    )


def _refuse(name: str, line: int, what: str, why: str, remedy: str) -> NoReturn:
    raise MarkerError(f"{name}:{line}: {what}; {why}. {remedy}")
