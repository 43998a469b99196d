"""What a regrade changed, on the terminal: who, by how much and why, then how many stayed as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from grader.assignment import Assignment
from grader.store.comparison import Cause, Change, Comparison, Reason
from grader.text import figure, one_line

_MOST_REASONS = 8
_ID_WIDTH = 32
_HASH_DIGITS = 12


def changes_table(comparison: Comparison, assignment: Assignment) -> RenderableType:
    """A row for each submission whose points changed, why below it, and a line on all the others."""
    return _ChangesTable(comparison, assignment)


@dataclass(frozen=True)
class _ChangesTable:
    comparison: Comparison
    assignment: Assignment

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        changed = self.comparison.changed
        if changed:
            rows = [["Submission", "Before", "After", "Change"], *map(_row, changed)]
            if any(change.before.bonus_score != change.after.bonus_score for change in changed):
                for row, cell in zip(rows, ["Bonus", *map(_bonus, changed)], strict=True):
                    row.append(cell)
            widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
            yield _line(rows[0], widths, "bold")
            for row, change in zip(rows[1:], changed, strict=True):
                yield _line(row, widths, "green" if change.difference > 0 else "red")
                for reason in self._reasons(change):
                    yield Text(f"  {one_line(reason, options.max_width - 2)}", "dim")
            yield Text("")
        yield from map(Text, self._summary())

    def _reasons(self, change: Change) -> Iterator[str]:
        shown = change.reasons[:_MOST_REASONS]
        titles = {name: exercise.title for name, exercise in self.assignment.exercises.items()}
        for reason in shown:
            yield _sentence(reason, titles.get(reason.exercise, reason.exercise))
        if more := len(change.reasons) - len(shown):
            yield f"and {more} more"

    def _summary(self) -> Iterator[str]:
        comparison = self.comparison
        yield f"{len(comparison.changed)} changed, {comparison.unchanged} unchanged"
        before, after = comparison.suite_before[:_HASH_DIGITS], comparison.suite_after[:_HASH_DIGITS]
        tests = f"suite {before}, as before" if before == after else f"suite {before} -> {after}"
        yield f"{comparison.graded} graded again; {tests}"


def _row(change: Change) -> list[str]:
    before, after = change.before, change.after
    whole = before.max_score == after.max_score
    return [
        one_line(change.submission, _ID_WIDTH),
        _points(before.score) if whole else f"{_points(before.score)}/{figure(before.max_score)}",
        _points(after.score) if whole else f"{_points(after.score)}/{figure(after.max_score)}",
        _signed(change.difference),
    ]


def _bonus(change: Change) -> str:
    before, after = change.before.bonus_score, change.after.bonus_score
    return "" if before == after else f"{_points(before)} -> {_points(after)}"


def _sentence(reason: Reason, title: str) -> str:
    """A reason in words, the most telling first: a narrow terminal cuts off the end."""
    words = f": {reason.words}" if reason.words else ""
    match reason.cause:
        case Cause.SUBMISSION:
            return "the submission itself is another one now"
        case Cause.STATUS:
            return f"{reason.before} -> {reason.after}{words}"
        case Cause.OVERRIDE:
            return f"{title}: {_decision(reason)} ({_signed(reason.difference)}){words}"
    test = reason.test.rpartition("::")[2]
    name = test if reason.cases == 1 else f"{test}, {reason.cases} cases"
    if reason.cause is Cause.POINTS:
        how = f"worth {'more' if reason.difference > 0 else 'less'} now"
    elif not reason.before:
        how = f"new, {reason.after}"
    elif not reason.after:
        how = f"gone, it had {reason.before}"
    else:
        how = f"{reason.before} -> {reason.after}"
    return f"{title}: {name}, {how} ({_signed(reason.difference)}){words}"


def _decision(reason: Reason) -> str:
    if reason.before == "":
        return f"override added, {_points(reason.after)}"
    if reason.after == "":
        return f"override removed, it was {_points(reason.before)}"
    return f"override changed, {_points(reason.before)} -> {_points(reason.after)}"


def _points(points: str | float | None) -> str:
    return "not graded" if points is None else figure(float(points))


def _signed(difference: float) -> str:
    return f"{'+' if difference > 0 else '-' if difference < 0 else ''}{figure(abs(difference))}"


def _line(cells: list[str], widths: list[int], style: str) -> Text:
    """The id to the left, figures to the right."""
    padded = [
        " " * (width - cell_len(cell)) + cell if column else cell + " " * (width - cell_len(cell))
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return Text("  ".join(padded).rstrip(), style, no_wrap=True, overflow="ellipsis")
