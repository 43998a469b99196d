"""Scores on the terminal: a class as a table, a student's points, and progress while grading.

Widths are counted in cells, 80 of them on a usual terminal. Away from a terminal the same lines
come out as plain aligned text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import rich.progress
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from grader.assignment import Assignment
from grader.examination.points_table import colour
from grader.results import Result, Status, TestStatus, overridden
from grader.scoring import LOOKS_LIKE
from grader.text import figure, one_line

_GAP = "  "
_ID_WIDTHS = (10, 32)  # a long id is shortened to the room there is, within these
_LEAST_REMARK_WIDTH = 28
_MOST_REMARK_WIDTH = 200


def class_table(results: Sequence[Result], assignment: Assignment) -> RenderableType:
    """One row a submission: its id, each core exercise, the total, bonus if any, a remark.

    The remark stands at the end of the row, or below it where the row would become too wide.
    """
    return _ClassTable(results, assignment)


class Progress:
    """How far the grading of ``total`` submissions is, on standard error.

    On a terminal a bar with the time gone and the time left, elsewhere a line for each finished
    submission. There is no thread behind it, so that forking stays safe: the bar moves when
    ``advance`` or ``refresh`` is called.
    """

    def __init__(self, total: int, *, console: Console | None = None, done: int = 0) -> None:
        """``done`` of the ``total`` were finished by an earlier run."""
        self._console = console or Console(stderr=True)
        self._total, self._done = total, done
        self._bar: rich.progress.Progress | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._bar = _bar(self._console)
            self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.update(self._task, description="")
            self._bar.stop()

    def advance(self, result: Result) -> None:
        """Count ``result`` as finished and show it."""
        self._done += 1
        if self._bar:
            self._bar.update(
                self._task, advance=1, description=f"{one_line(result.submission, 20)} {_total(result)}"
            )
            self._bar.refresh()
            return
        count = f"[{self._done:>{len(str(self._total))}}/{self._total}]"
        line = _GAP.join([f"{count} {one_line(result.submission)}", _total(result)])
        self._console.print(Text(_with_remark(line, result), end=""), soft_wrap=True)

    def refresh(self) -> None:
        """Let the clock on the bar go on; away from a terminal, do nothing."""
        if self._bar:
            self._bar.refresh()


def _bar(console: Console) -> rich.progress.Progress:
    return rich.progress.Progress(
        rich.progress.TextColumn("Grading"),
        rich.progress.BarColumn(bar_width=None),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TextColumn("left"),
        rich.progress.TimeRemainingColumn(),
        rich.progress.TextColumn("{task.description}", markup=False),
        console=console,
        auto_refresh=False,  # no thread: this process forks
        speed_estimate_period=3600.0,  # one slow submission must not empty the estimate
        redirect_stdout=False,
        redirect_stderr=False,
        expand=True,
    )


@contextmanager
def cases_progress(total: int, doing: str = "verifying") -> Iterator[Callable[[], None]]:
    """A bar for ``total`` cases on a terminal's standard error, nothing elsewhere; call what it gives."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with _bar(console) as bar:
        task = bar.add_task(doing, total=total)

        def done() -> None:
            bar.advance(task)
            bar.refresh()

        yield done


@dataclass(frozen=True)
class _ClassTable:
    results: Sequence[Result]
    assignment: Assignment

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = [["Submission"], *(_head(exercise.title) for exercise in self.assignment.core), ["Total"]]
        bonus = any(result.bonus_score for result in self.results)
        heads += [["Bonus"]] if bonus else []
        rows = [self._cells(result, bonus) for result in self.results]
        widths = [
            max(map(cell_len, [*head, *(row[column].plain for row in rows)]))
            for column, head in enumerate(heads)
        ]
        room = options.max_width - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
        widths[0] = min(widths[0], max(_ID_WIDTHS[0], min(_ID_WIDTHS[1], room)))
        room -= widths[0] + len(_GAP)
        beside = room >= _LEAST_REMARK_WIDTH
        heads += [["Remark"]] if beside else []

        for line in _bottom_aligned(heads):
            yield _line([Text(word, "bold") for word in line], widths)
        for row, result in zip(rows, self.results, strict=True):
            row[0] = Text(one_line(result.submission, widths[0]))
            words = remark(result, self.assignment)
            style = "red" if result.status is Status.INFRASTRUCTURE_ERROR else "dim"
            if words and beside:
                row.append(Text(one_line(words, room), style))
            yield _line(row, widths)
            if words and not beside:
                yield Text(f"{_GAP}{one_line(words, options.max_width - 2 * len(_GAP))}", style)

    def _cells(self, result: Result, bonus: bool) -> list[Text]:
        graded = result.status is not Status.INFRASTRUCTURE_ERROR
        scores = {exercise.name: (exercise.score, exercise.max_score) for exercise in result.exercises}
        cells = [Text(one_line(result.submission))]
        for exercise in self.assignment.core:
            score = scores.get(exercise.name) if graded else None
            cells.append(
                Text(f"{figure(score[0])}/{figure(score[1])}", colour(*score)) if score else Text("-")
            )
        cells.append(Text(_total(result), colour(result.score, result.max_score) if graded else "red"))
        if bonus:
            cells.append(Text(f"+{figure(result.bonus_score)}" if graded else "-"))
        return cells


def remark(result: Result, assignment: Assignment) -> str:
    """What an instructor should know first: a decision by hand, why there is no score, what is wrong first.

    Bonus exercises are left out of it: who does not try them, or not to the end, did nothing wrong.
    """
    titles = {name: exercise.title for name, exercise in assignment.exercises.items()}
    if by_hand := overridden(result, titles):
        return one_line("; ".join(by_hand))
    if result.status_message:
        return one_line(result.status_message)
    if result.status is not Status.GRADED:
        return "no reason was recorded"
    bonus = {exercise.name for exercise in assignment.bonus}
    tests = [test for test in result.tests if test.exercise not in bonus]
    for test in tests:
        if test.status in (TestStatus.FAILED, TestStatus.ERROR):
            words = one_line(_telling_part(test.message)) or "failed without a message"
            return f"{one_line(titles.get(test.exercise, test.exercise))}: {words}"
    silent = sum(test.status is TestStatus.NOT_RUN and test.max_score > 0 for test in tests)
    return f"{silent} test{'s' if silent > 1 else ''} did not run" if silent else ""


def _telling_part(message: str) -> str:
    """The line that says what it looks like, else the first one: the property that does not hold."""
    lines = message.strip().split("\n")
    likely = [line.removeprefix(LOOKS_LIKE) for line in lines if line.startswith(LOOKS_LIKE)]
    return (likely or lines)[0]


def _with_remark(line: str, result: Result) -> str:
    """``line``, and why where there is no ordinary score."""
    if result.status is Status.GRADED:
        return line
    return f"{line}{_GAP}{one_line(result.status_message, _MOST_REMARK_WIDTH)}".rstrip()


def _total(result: Result) -> str:
    if result.status is Status.INFRASTRUCTURE_ERROR:
        return "not graded"
    return f"{figure(result.score)} / {figure(result.max_score)}"


def _head(title: str) -> list[str]:
    """A title on as many lines as it has long words, so that columns stay narrow."""
    return textwrap.wrap(one_line(title), 10) or [""]


def _bottom_aligned(heads: Sequence[Sequence[str]]) -> list[list[str]]:
    height = max(map(len, heads))
    padded = [[""] * (height - len(head)) + list(head) for head in heads]
    return [list(line) for line in zip(*padded, strict=True)]


def _line(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    """Cells side by side: names to the left, figures to the right, a last remark as it is."""
    line = Text(no_wrap=True, overflow="ellipsis")
    for column, cell in enumerate(cells):
        space = " " * (widths[column] - cell_len(cell.plain)) if column < len(widths) else ""
        figures = 0 < column < len(widths)
        line.append(_GAP if column else "")
        line.append(space if figures else "").append_text(cell).append("" if figures else space)
    line.rstrip()
    return line
