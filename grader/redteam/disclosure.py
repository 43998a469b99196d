"""What may stand where people read about a submission, and what must not."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from grader.results import Result
from grader.text import figure, visible

_LONGEST = 6_000  # characters of one message
_LEAST_TELLING = 30  # characters of a line that can only come from where it stands
_OURS = re.compile(r"Traceback \(most recent call last\)|File \"/|grader[/.]\w+|site-packages|/headstart-\d")
_FORMULA = re.compile(r"^[=+\-@\t\r\n]")
_COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)  # what a CI service takes from a log as an order


@dataclass(frozen=True)
class Secrets:
    """What no student may read: paths of ours, and lines of the hidden tests."""

    paths: tuple[str, ...]
    lines: frozenset[str]

    @classmethod
    def of(cls, root: Path, paths: Sequence[str]) -> Self:
        lines = set()
        for file in (root / "tests" / "hidden").rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            code = [line.strip() for line in re.sub(r'""".*?"""', "", text, flags=re.DOTALL).splitlines()]
            lines |= {line for line in code if len(line) >= _LEAST_TELLING}
        return cls((str(root), *paths), frozenset(lines))


def telling(text: str, pattern: str) -> str:
    """The line of a message that the pattern is found in; empty when in none."""
    if not pattern:
        return ""
    found = re.search(pattern, text, re.IGNORECASE)
    return next((line for line in text.split("\n") if found and found[0].split("\n")[0] in line), "")


def unfit(text: str, secrets: Secrets, own: str) -> Iterator[str]:
    """What is wrong with a message for a student; ``own`` is what they wrote, which may be quoted."""
    if (found := _OURS.search(text)) and found[0] not in own:
        yield f"a message shows the inside of the grader: {text[max(0, found.start() - 60) :][:160]!r}"
    if path := next((path for path in secrets.paths if path in text and path not in own), ""):
        yield f"a message shows a path of ours: {text[max(0, text.index(path) - 60) :][:160]!r}"
    if line := next((line for line in secrets.lines if line in text and line not in own), ""):
        yield f"a message shows a line of a hidden test: {line!r}"
    if (plain := visible(text, keep="\n\t")) != text:
        yield f"a message holds characters that act on a screen: {plain[:160]!r}"
    if len(text) > _LONGEST:
        yield f"a message is {len(text)} characters long"


def unfit_scores(content: bytes, results: Sequence[Result]) -> Iterator[str]:
    """What is wrong with scores.csv, as a spreadsheet would read it."""
    try:
        head, *rows = csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        yield f"scores.csv cannot be read: {error}"
        return
    if [row[1] for row in rows] != [result.status.value for result in results]:
        yield "scores.csv has other rows than there are results"
    if any(len(row) != len(head) for row in rows):
        yield "scores.csv has rows of different lengths"
    if [row[2] for row in rows if row[1] != "infrastructure_error"] != [
        figure(result.score) for result in results if result.status.value != "infrastructure_error"
    ]:
        yield "scores.csv has other scores than there are"
    for cell in (cell for row in rows for cell in row if _FORMULA.match(cell)):
        yield f"scores.csv has a cell that a spreadsheet would run: {cell[:80]!r}"


def unfit_screen(text: str) -> Iterator[str]:
    """What is wrong with a table for the terminal or a CI service's log."""
    if (plain := visible(text, keep="\n")) != text:
        yield f"the table holds characters that act on a screen: {plain[:160]!r}"
    if found := _COMMAND.search(text):
        yield f"the table holds an order to a CI service: {text[found.start() :][:80]!r}"
