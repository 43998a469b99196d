"""What the instructor decided by hand: ``overrides.csv`` in a folder of results, read strictly but kindly.

One row a decision: submission, exercise, points, comment. The grader reads the file and never writes it.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from grader.assignment import Assignment
from grader.errors import UsageError
from grader.store.files import OVERRIDES, without_formula_mark
from grader.text import one_line

COLUMNS = ("submission", "exercise", "points", "comment")

_DELIMITERS = (",", ";", "\t")
_NUMBER = re.compile(r"[0-9]{1,6}(?:[.,][0-9]{1,6})?")  # with a comma where a spreadsheet writes one
_MOST_PROBLEMS = 12


class OverridesError(UsageError):
    """overrides.csv cannot be used; the message says which lines are wrong and what to try."""


@dataclass(frozen=True)
class Decision:
    """Points by hand in the place of an exercise's score, and why."""

    points: Fraction
    comment: str


Overrides = Mapping[str, Mapping[str, Decision]]  # submission -> exercise -> decision


def read_overrides(out: Path, assignment: Assignment, known: Collection[str]) -> Overrides:
    """What ``out/overrides.csv`` decides about the ``known`` submissions; nothing without such a file.

    Accepted is what spreadsheets make of it: a byte order mark, semicolons or tabs, decimal commas, empty
    lines, other columns, and the apostrophe that scores.csv puts before what looks like a formula.

    Raises OverridesError, with a line for each problem, when anything in it cannot be taken as it stands.
    """
    path = out / OVERRIDES
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OverridesError(
            f"Nothing was graded: {path} cannot be read: {error.strerror}. Mend that, or move it away."
        ) from error
    except UnicodeDecodeError as error:
        raise OverridesError(
            f"Nothing was graded: {path} is not UTF-8 text. Save it as CSV in UTF-8, then try again."
        ) from error
    sheet = _Sheet(assignment, known)
    sheet.read(text)
    if sheet.problems:
        told = sheet.problems[:_MOST_PROBLEMS]
        if more := len(sheet.problems) - len(told):
            told.append(f"and {more} more")
        raise OverridesError(
            f"Nothing was graded: {path} cannot be used as it stands.\n"
            + "".join(f"  {problem}\n" for problem in told)
            + "Mend that, then run the same command again."
        )
    return sheet.overrides


class _Sheet:
    """The rows of the file, taken over one by one; what is wrong with them gathers in ``problems``."""

    def __init__(self, assignment: Assignment, known: Collection[str]) -> None:
        self._assignment = assignment
        self._known = known
        self._lines: dict[tuple[str, str], int] = {}
        self.overrides: dict[str, dict[str, Decision]] = {}
        self.problems: list[str] = []

    def read(self, text: str) -> None:
        rows = self._rows(text)
        number, head = next(rows, (1, []))
        names = [cell.strip().lower() for cell in head]
        if missing := [name for name in COLUMNS if name not in names]:
            self._problem(
                number,
                f"the header lacks {', '.join(missing)}: "
                f"let the file begin with the line {','.join(COLUMNS)}",
            )
            return
        if twice := [name for name in COLUMNS if names.count(name) > 1]:
            self._problem(number, f"the header has {', '.join(twice)} more than once: keep one of each")
            return
        for number, row in rows:
            if any(row[len(names) :]):
                self._problem(
                    number,
                    f"{len(row)} cells where the header has {len(names)}: "
                    'put "quotes" around what holds a comma',
                )
            else:
                cells = dict(zip(names, row + [""] * len(names), strict=False))
                self._take(number, *(cells[name] for name in COLUMNS))

    def _rows(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """Each row that is not empty, with the number of the line it begins on."""
        first = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = max(_DELIMITERS, key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        begins = 1
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield begins, row
                begins = reader.line_num + 1
        except csv.Error as error:
            self._problem(begins, f"this is not CSV ({error}): look for a quote that is not closed")

    def _take(self, number: int, submission: str, exercise: str, points: str, comment: str) -> None:
        id = self._submission(number, submission)
        name = self._exercise(number, exercise)
        worth = self._points(number, points, name)
        if id is None or name is None or worth is None:
            return
        first = self._lines.setdefault((id, name), number)
        if first != number:
            self._problem(
                number,
                f"{one_line(id)} has an override of {name} on line {first} already: keep one of the two",
            )
            return
        self.overrides.setdefault(id, {})[name] = Decision(worth, comment.strip())

    def _submission(self, number: int, cell: str) -> str | None:
        candidates = dict.fromkeys([cell, cell.strip()])
        candidates |= dict.fromkeys([without_formula_mark(one) for one in candidates])
        found = [candidate for candidate in candidates if candidate in self._known]
        if not found:  # ë may be one character or two, and looks the same
            composed = set(map(_composed, candidates))
            found = [id for id in self._known if _composed(id) in composed]
        if len(found) == 1:
            return found[0]
        if found:
            self._problem(
                number,
                f"{cell!r} may mean {' or '.join(map(repr, found))}: "
                "rename one of these submissions, then grade it anew",
            )
        else:
            near = difflib.get_close_matches(cell.strip(), self._known, n=3, cutoff=0.5)
            meant = (
                f"did you mean {' or '.join(map(one_line, near))}?" if near else "write it as scores.csv does"
            )
            self._problem(number, f"there is no submission {_quoted(cell)} here: {meant}")
        return None

    def _exercise(self, number: int, cell: str) -> str | None:
        exercises = self._assignment.exercises
        name = cell.strip()
        if name in exercises:
            return name
        near = difflib.get_close_matches(name.lower(), exercises, n=1)
        meant = f"did you mean {near[0]}?" if near else f"the exercises are {', '.join(exercises)}"
        self._problem(number, f"there is no exercise {_quoted(cell)}: {meant}")
        return None

    def _points(self, number: int, cell: str, name: str | None) -> Fraction | None:
        """The points, where they are a number within what the exercise is worth."""
        cell = cell.strip()
        most = self._assignment.exercises[name].points if name else None
        within = f"from 0 to {most}" if most else "of points"
        if not cell:
            self._problem(number, f"the points are missing: give a number {within}, or delete the line")
            return None
        if not _NUMBER.fullmatch(cell.removeprefix("-")):
            self._problem(
                number, f"the points {_quoted(cell)} are not a number: give one {within}, such as 7.5"
            )
            return None
        points = Fraction(cell.replace(",", "."))
        if points < 0 or (most is not None and points > most):
            fault = "less than nothing" if points < 0 else f"more than {name} is worth"
            self._problem(number, f"the points {cell} are {fault}: give a number {within}")
            return None
        return points

    def _problem(self, number: int, problem: str) -> None:
        self.problems.append(f"line {number}: {problem}")


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _quoted(cell: str) -> str:
    return f"'{one_line(cell, 60)}'"
