"""The cases that the suites are measured against: mistakes (changes to the solutions) and look-alikes."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.assignment import Assignment
from grader.errors import UsageError
from grader.submissions import Submission, read_submissions


class CaseError(UsageError):
    """A case cannot be used as it stands; the message says which, why and what to try."""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer: a small change to one solution, and what should be said about it."""

    id: str
    exercise: str
    what: str
    diagnosis: str
    aspect: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class LookAlike:
    """A right answer written unusually; ``refused`` when policy refuses it all the same."""

    id: str
    exercises: tuple[str, ...]
    what: str
    refused: bool
    submission: Submission


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Change(_Table):
    old: str
    new: str


class _Written(_Table):
    """A mistake as written: ``id`` without the exercise, ``exercises`` where it is not the folder's only."""

    id: str
    what: str
    diagnosis: str
    aspect: str
    exercises: tuple[str, ...] = ()
    change: tuple[_Change, ...]


class _File(_Table):
    mistake: tuple[_Written, ...] = ()


def load_mistakes(folder: Path, solutions: Path, assignment: Assignment) -> list[Mistake]:
    """All of ``folder/<exercise>/*.toml``, exercise by exercise in the assignment's order.

    A mistake that is made alike in several exercises stands once, with ``exercises``. Its id in each
    begins with what ``folder/prefixes.toml`` says, or with the exercise's name.

    Raises CaseError for one that does not fit the solutions.
    """
    originals = {path.name: path.read_text(encoding="utf-8") for path in sorted(solutions.glob("*.py"))}
    prefixes = _prefixes(folder / "prefixes.toml", assignment)
    found: dict[str, Mistake] = {}
    for path in sorted(folder.glob("*/*.toml")):
        for written in _read(path).mistake:
            for exercise in _known(written.exercises or (path.parent.name,), assignment, path):
                home = assignment.exercises[exercise].file
                id = f"{prefixes[exercise]}-{written.id}"
                if id in found:
                    raise CaseError(f"{path}: two mistakes are called {id!r}. Give each its own id.")
                text = _changed(originals, home, written, f"{path}: {id}")
                found[id] = Mistake(
                    id, exercise, written.what, written.diagnosis, written.aspect, {home: text}
                )
    order = list(assignment.exercises)
    return sorted(found.values(), key=lambda mistake: order.index(mistake.exercise))


def _prefixes(path: Path, assignment: Assignment) -> dict[str, str]:
    given = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {name: given.get(name, name.replace("_", "-")) for name in assignment.exercises}


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise CaseError(f"{path}: {place}: {problem['msg']}. Mend that key.") from error


def _known(exercises: tuple[str, ...], assignment: Assignment, path: Path) -> tuple[str, ...]:
    for name in exercises:
        if name not in assignment.exercises:
            raise CaseError(f"{path}: there is no exercise {name!r}. Name one of the assignment's.")
    return exercises


def _changed(originals: Mapping[str, str], home: str, written: _Written, where: str) -> str:
    if home not in originals:
        raise CaseError(f"{where}: there is no solution {home} to change. Write it first.")
    text = originals[home]
    for change in written.change:
        count = text.count(change.old)
        if count != 1:
            raise CaseError(
                f"{where}: the text to change occurs {count} times in {home}, not once: "
                f"{change.old[:60]!r}. Copy it from the solution, with enough around it."
            )
        text = text.replace(change.old, change.new)
    return text


def load_lookalikes(folder: Path, assignment: Assignment) -> list[LookAlike]:
    """All of ``folder/<exercise>/``: ``<id>.py``, or a folder ``<id>`` for one of several files.

    The exercise's file begins with a header, which is no part of the answer (see :func:`_parted`).
    Raises CaseError for one without a proper header.
    """
    headers: dict[str, _Header] = {}
    with tempfile.TemporaryDirectory() as collected:
        for path in _cases(folder):
            exercise = _known((path.parent.name,), assignment, path)[0]
            home = Path(collected, path.stem, assignment.exercises[exercise].file)
            if path.stem in headers:
                raise CaseError(f"{path}: two look-alikes are called {path.stem!r}. Rename one.")
            if path.is_dir():
                shutil.copytree(path, home.parent, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                home.parent.mkdir()
                shutil.copyfile(path, home)
            if not home.is_file():
                raise CaseError(f"{path} holds no {home.name}. Put the answer there, below its header.")
            header, answer = _parted(home.read_text(encoding="utf-8"), path, exercise)
            _known(header.exercises, assignment, path)
            home.write_text(answer, encoding="utf-8")
            headers[path.stem] = header
        submissions = read_submissions(Path(collected), assignment) if headers else []
    return [
        LookAlike(read.id, header.exercises, header.what, header.refused, read)
        for read in submissions
        if (header := headers[read.id])
    ]


def _cases(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*/*")):
        if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__"):
            yield path


@dataclass(frozen=True)
class _Header:
    what: str
    exercises: tuple[str, ...]
    refused: bool


def _parted(text: str, path: Path, exercise: str) -> tuple[_Header, str]:
    """The header and the answer below it.

    The header is the comment at the very top: a line that says what is unusual, then, where need be,
    ``# exercises: one, another`` (otherwise the folder's) and ``# refused: yes``.
    """
    lines = text.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    what, *others = [line.removeprefix("#").strip() for line in lines[:end]] or [""]
    keys = dict(line.split(": ", 1) for line in others if ": " in line)
    if not what or len(keys) < len(others) or not keys.keys() <= {"exercises", "refused"}:
        raise CaseError(
            f"{path} does not begin with a proper header. Say in a comment on its first line what is unusual "
            "about it, and below that at most `# exercises: ...` and `# refused: yes`."
        )
    exercises = tuple(name.strip() for name in keys.get("exercises", exercise).split(","))
    return _Header(what, exercises, keys.get("refused") == "yes"), "".join(lines[end:]).lstrip("\n")


def as_submission(mistake: Mistake, assignment: Assignment) -> Submission:
    """The mistake as if a student had handed in that one file."""
    (name, text), *_ = mistake.files.items()
    homes = {symbol: name for symbol, home in assignment.homes.items() if home == name}
    return Submission(id=mistake.id, path=Path(name), files={name: text.encode()}, homes=homes)
