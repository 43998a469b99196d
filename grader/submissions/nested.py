"""Folders of students that hold a folder for each assignment, as nbgrader keeps them: ADA/ATTENTION/…"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from grader.submissions.folder import gather
from grader.submissions.gathered import Entry, IntakeError
from grader.submissions.names import is_hidden


def folders(path: Path, within: str) -> list[Entry]:
    """A submission for each folder in ``path`` that holds a folder ``within``. Raises IntakeError."""
    if within in ("", ".", "..") or os.sep in within:
        raise IntakeError(f"--within takes the name of one folder, such as attention; it got {within!r}.")
    try:
        with os.scandir(path) as found:
            students = sorted(child.name for child in found if child.is_dir(follow_symlinks=False))
    except OSError as error:
        raise IntakeError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}. "
            "Give the folder that holds a folder for each student."
        ) from error
    handed_in = [
        Entry(student, path / student / within, partial(gather, path / student / within))
        for student in students
        if not is_hidden(student) and _is_own_folder(path / student / within)
    ]
    if not handed_in:
        raise IntakeError(
            f"{path} holds nothing to grade: no folder in it holds a folder called {within}. "
            "Check the name of the assignment, and whether the submissions were collected."
        )
    return handed_in


def _is_own_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
