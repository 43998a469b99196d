"""A student's points as a table: each exercise that has tests here, then the sum."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from grader.assignment import CORE_POINTS, Assignment
from grader.scoring import Scores
from grader.text import figure, one_line

_GAP = "  "
_NOTE_WIDTH = 78


def points_table(scores: Scores, assignment: Assignment, *, public_only: bool) -> RenderableType:
    """``points_lines`` for a console: the same lines, with colour on a terminal."""
    return _PointsTable(scores, assignment, public_only)


def points_lines(scores: Scores, assignment: Assignment, *, public_only: bool) -> list[str]:
    """A student's points as plain lines: each exercise that has tests here, then the sum.

    With ``public_only`` a note follows that says how much the hidden tests make up.
    """
    return [row.plain() for row in _points_rows(scores, assignment)] + _note(assignment, public_only)


@dataclass(frozen=True)
class _PointsRow:
    title: str
    score: float
    max_score: float
    width: int
    strong: bool = False

    def plain(self) -> str:
        name = one_line(self.title)
        return f"{name}{' ' * (self.width - cell_len(name))}{_GAP}{self.points()}"

    def points(self) -> str:
        return f"{figure(self.score):>6} / {figure(self.max_score)}"


@dataclass(frozen=True)
class _PointsTable:
    scores: Scores
    assignment: Assignment
    public_only: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in _points_rows(self.scores, self.assignment):
            line = Text(row.plain(), "bold" if row.strong else "")
            line.stylize(colour(row.score, row.max_score), len(line) - len(row.points()))
            yield line
        yield from (Text(line, "dim") for line in _note(self.assignment, self.public_only))


def _points_rows(scores: Scores, assignment: Assignment) -> Iterator[_PointsRow]:
    """A row for each exercise that has tests here, then the core's sum, then the bonus if any."""
    titles = {name: exercise.title for name, exercise in assignment.exercises.items()}
    here = [exercise for exercise in scores.exercises if exercise.max_score]
    core = any(not assignment.exercises[exercise.name].bonus for exercise in here)
    bonus = sum(exercise.max_score for exercise in here if assignment.exercises[exercise.name].bonus)
    width = max(cell_len(one_line(title)) for title in [*titles.values(), "Bonus, on top"])
    for exercise in here:
        yield _PointsRow(titles[exercise.name], exercise.score, exercise.max_score, width)
    if core or not here:
        yield _PointsRow("Total", scores.score, scores.max_score, width, strong=True)
    if bonus:
        yield _PointsRow("Bonus, on top", scores.bonus_score, bonus, width, strong=True)


def _note(assignment: Assignment, public_only: bool) -> list[str]:
    if not public_only:
        return []
    public = sum(exercise.public_points for exercise in assignment.core)
    return textwrap.wrap(
        f"The tests you have make up {public} of {CORE_POINTS} points. Hidden tests make up the other "
        f"{CORE_POINTS - public}, so passing everything here is a good sign, not the whole score.",
        _NOTE_WIDTH,
    )


def colour(score: float, most: float) -> str:
    """Green for all of the points, yellow for some, red for none."""
    if score >= most:
        return "green"
    return "yellow" if score else "red"
