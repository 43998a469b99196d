"""The attacks as a table on the terminal, and as aligned plain text elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from grader.redteam.runner import AttackRun
from grader.redteam.trial import OPEN, SAME, Row
from grader.text import figure, one_line

_HEADS = ("case", "level", "honest", "score", "neighbours", "machine", "verdict")
_FIGURES = (2, 3)
_VERDICT_WIDTH = 90


def table(attack_run: AttackRun) -> Iterator[Text]:
    """A line for each attack and level, below it why it succeeded if it did; the summary at the end."""
    rows = [_cells(row) for row in attack_run.rows]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    yield Text(_aligned(_HEADS, widths), "bold")
    for row, cells in zip(attack_run.rows, rows, strict=True):
        yield Text(_aligned(cells, widths), "red" if row.why else "yellow" if row.machine == OPEN else "")
        yield from (Text(f"  {_reason(row)}: {one_line(why, 400)}", "red") for why in row.why)
    *lines, last = attack_run.summary()
    yield Text("")
    yield from map(Text, lines)
    yield Text(last, "bold red" if attack_run.succeeded else "bold green")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.id,
        row.level,
        figure(row.honest),
        figure(row.score),
        SAME if row.neighbours == SAME else "changed",
        row.machine if len(row.machine) < 8 else "changed",
        one_line(row.verdict.removeprefix("Observed: "), _VERDICT_WIDTH),
    )


def _reason(row: Row) -> str:
    return "WRONGED" if row.odd else "SUCCEEDED"


def _aligned(cells: Sequence[str], widths: Iterable[int]) -> str:
    padded = [
        cell.rjust(width) if column in _FIGURES else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()
