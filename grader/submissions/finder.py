"""Which file holds which name: found by reading the syntax tree, never by running anything."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from grader.assignment import Assignment
from grader.submissions.definitions import defined_names, renamed_imports
from grader.submissions.names import exercise_file, is_notebook, shown
from grader.submissions.notebook import read_notebook
from grader.submissions.python_source import SourceError, decode, parse

_LARGE = 64 * 1024  # characters


@dataclass(frozen=True)
class Flaw:
    """Something in a file that could not be read.

    ``message`` is a sentence for the student; ``claims`` are the exercise names that the
    unreadable text seems to define.
    """

    message: str
    claims: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CodeFile:
    """One code file, read.

    ``text`` is its Python source (of a notebook: what the exercises need of it), or None.
    ``defines`` are the exercise names it defines at its top level. ``misspelt`` maps a name that
    it does not define to one that it does and that differs in case or underscores only. ``in_text``
    are names that a text cell of a notebook would define, if it were run.
    """

    path: str
    text: str | None
    defines: frozenset[str] = frozenset()
    flaws: tuple[Flaw, ...] = ()
    misspelt: Mapping[str, str] = field(default_factory=dict)
    in_text: frozenset[str] = frozenset()

    @property
    def claims(self) -> frozenset[str]:
        """The exercise names that the unreadable parts seem to define."""
        return frozenset().union(*(flaw.claims for flaw in self.flaws))


def read_code(path: str, raw: bytes, assignment: Assignment) -> CodeFile:
    """Read one code file of a submission. What is wrong with it is told in its flaws, never raised."""
    names = frozenset(assignment.homes)
    try:
        text = decode(raw)
    except SourceError as error:
        return _broken(path, None if raw.strip() else "", f"{shown(path)} {error}", _salvaged(raw), names)
    if is_notebook(path) or _looks_like_notebook(text):
        return _read_notebook(path, text, names)
    mentioned = exercise_file(path, assignment) or any(re.search(name, text, re.IGNORECASE) for name in names)
    if len(text) > _LARGE and not mentioned:
        return CodeFile(path, text)  # data rather than an answer: a tree of it takes seconds to build
    try:
        body = parse(text).body
        found = defined_names(body)
        # in its own file an import by the right name hands it in, too; elsewhere it is only a use of it
        found |= {
            name
            for name in renamed_imports(body) & names
            if assignment.homes[name] == exercise_file(path, assignment)
        }
    except SourceError as error:
        return _broken(path, text, f"{shown(path)} {error}", text, names)
    except RecursionError:
        return _broken(
            path, text, f"{shown(path)} is nested too deeply to be read. Simplify it.", text, names
        )
    return CodeFile(path, text, names & found, misspelt=misspelt(found, names))


def _read_notebook(path: str, text: str, names: frozenset[str]) -> CodeFile:
    try:
        notebook = read_notebook(text, names)
    except SourceError as error:
        return _broken(path, None, f"{shown(path)} {error}", text.replace("\\n", "\n"), names)
    flaws = tuple(
        Flaw(f"Cell {cell.number} of {shown(path)} {cell.reason}", claimed_names(cell.text, names))
        for cell in notebook.broken
    )
    nearly = misspelt(notebook.found, names)
    return CodeFile(path, notebook.source, notebook.defines, flaws, nearly, notebook.in_text)


def _broken(path: str, text: str | None, message: str, readable: str, names: Iterable[str]) -> CodeFile:
    return CodeFile(path, text, flaws=(Flaw(message, claimed_names(readable, names)),))


def _salvaged(raw: bytes) -> str:
    """Whatever ASCII can be seen in undecodable bytes: enough to find a class by name."""
    return raw.replace(b"\0", b"").decode("ascii", "replace")


def _looks_like_notebook(text: str) -> bool:
    return text.lstrip().startswith("{") and re.search(r'"(cells|worksheets)"\s*:', text) is not None


def claimed_names(text: str, names: Iterable[str]) -> frozenset[str]:
    """The names that unreadable text seems to define."""
    return frozenset(name for name in names if re.search(rf"\b(class|def)[ \t]+{re.escape(name)}\b", text))


def misspelt(found: Collection[str], names: Iterable[str]) -> dict[str, str]:
    """The wanted names that are missing, each with the found one that is nearly the same."""
    nearly = {name.replace("_", "").lower(): name for name in sorted(found)}
    return {
        name: nearly[key]
        for name in names
        if name not in found and (key := name.replace("_", "").lower()) in nearly
    }
