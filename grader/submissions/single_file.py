"""A submission that is one file: a ``.py`` or an ``.ipynb``."""

from __future__ import annotations

from pathlib import Path

from grader.assignment import Assignment
from grader.submissions.disk import UnreadableError, read_regular
from grader.submissions.gathered import Entry, Gathered
from grader.submissions.names import code_suffix, shown, size_limit

ORDER = 100


def entries(path: Path, name: str, assignment: Assignment) -> list[Entry] | None:
    """The one submission that the code file ``path`` is; None if it is no code file."""
    if path.is_dir() or code_suffix(name) is None:
        return None
    return [entry(path, name)]


def entry(path: Path, name: str) -> Entry:
    return Entry(name, path, lambda: gather(path, name))


def gather(path: Path, name: str) -> Gathered:
    """Read one code file. What cannot be read is told, never raised."""
    try:
        return Gathered(files={name: read_regular(path, size_limit(name))})
    except UnreadableError as error:
        return Gathered(fatal=f"{shown(name)} {error}")
