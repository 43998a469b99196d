"""The cases that the suites are measured against: mistakes (changes to the solutions) and look-alikes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.release.markers import parse
from grader.submissions import Submission, read_submissions


class CaseError(Exception):
    """A case cannot be used as it stands; the message says which, why and what to try."""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: a small change to one solution, and what should be said about it."""

    id: str
    exercise: str
    what: str
    diagnosis: str
    aspect: str
    source: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class LookAlike:
    """A right answer written unusually; ``refused`` when policy refuses it all the same."""

    id: str
    exercises: tuple[str, ...]
    what: str
    refused: bool
    submission: Submission


def load_mistakes(folder: Path, solutions: Path, assignment: Assignment) -> list[Mistake]:
    """All of ``folder/<exercise>/*.toml``. Raises CaseError for one that does not fit the solutions."""
    originals = {path.name: path.read_text(encoding="utf-8") for path in sorted(solutions.glob("*.py"))}
    found: dict[str, Mistake] = {}
    for path in sorted(folder.glob("*/*.toml")):
        exercise = path.parent.name
        if exercise not in assignment.exercises:
            raise CaseError(f"{path}: there is no exercise {exercise!r}. Name the folder after one.")
        for table in tomllib.loads(path.read_text(encoding="utf-8")).get("mistake", []):
            mistake = _mistake(table, exercise, originals, assignment, path)
            if mistake.id in found:
                raise CaseError(f"{path}: two mistakes are called {mistake.id!r}. Give each its own id.")
            found[mistake.id] = mistake
    return list(found.values())


def _mistake(
    table: Mapping[str, Any], exercise: str, originals: Mapping[str, str], assignment: Assignment, path: Path
) -> Mistake:
    home = assignment.exercises[exercise].file
    try:
        text = originals[home]
        for change in table["change"]:
            count = text.count(change["old"])
            if count != 1:
                raise CaseError(
                    f"{path}: {table['id']}: the text to change occurs {count} times in {home}, not once: "
                    f"{change['old'][:60]!r}. Copy it from the solution, with enough around it."
                )
            text = text.replace(change["old"], change["new"])
        named = {key: str(table[key]) for key in ("id", "what", "diagnosis", "aspect")}
    except KeyError as error:
        raise CaseError(f"{path}: a mistake lacks {error}. Add that key.") from error
    return Mistake(exercise=exercise, source=table.get("source", ""), files={home: text}, **named)


def load_lookalikes(folder: Path, assignment: Assignment) -> list[LookAlike]:
    """All of ``folder/<id>/``. Raises CaseError for one without a proper about.toml."""
    found = []
    for path in sorted(folder.glob("*/about.toml")):
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        try:
            exercises, what, refused = about["exercises"], about["what"], about.get("refused", False)
        except KeyError as error:
            raise CaseError(f"{path} lacks {error}. Add that key.") from error
        unknown = [name for name in exercises if name not in assignment.exercises]
        if unknown:
            raise CaseError(f"{path}: there is no exercise {unknown[0]!r}. Name one of the assignment's.")
        submission = read_submissions(path.parent, assignment)[0]
        found.append(LookAlike(path.parent.name, tuple(exercises), what, refused, submission))
    return found


def as_submission(mistake: Mistake, assignment: Assignment) -> Submission:
    """The mistake as if a student had handed in that one file."""
    (name, text), *_ = mistake.files.items()
    homes = {symbol: name for symbol, home in assignment.homes.items() if home == name}
    return Submission(id=mistake.id, path=Path(name), files={name: text.encode()}, homes=homes)


def solution_blocks(solutions: Path) -> int:
    """How many blocks of the solutions a mistake can be made in."""
    return sum(len(parse(path.read_text(encoding="utf-8"), path.name)) for path in solutions.glob("*.py"))
