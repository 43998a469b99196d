"""Intake: whatever a learning platform hands over, read as submissions and never executed."""

from __future__ import annotations

from pathlib import Path

from grader.assignment import Assignment
from grader.submissions import nested
from grader.submissions.assembly import assemble, own_ids, unreadable
from grader.submissions.gathered import Entry, IntakeError
from grader.submissions.model import Submission
from grader.submissions.names import shown
from grader.submissions.sandboxed_parse import Unread, each
from grader.submissions.sources import sources

__all__ = ["IntakeError", "Submission", "read_submissions"]


def read_submissions(path: Path, assignment: Assignment, within: str | None = None) -> list[Submission]:
    """The submissions at ``path``, sorted by id: one, or one for each thing inside a folder.

    With ``within`` each submission is the folder of that name inside a student's folder.

    Raises IntakeError when there is nothing to grade. Whatever is wrong inside a submission is
    told in that submission and costs the others nothing.
    """
    name = path.name if path.name not in ("", "..") else path.resolve().name or "submission"
    try:
        real = path.resolve(strict=True)  # the person who gave this path may give a link
    except (OSError, RuntimeError, ValueError) as error:
        raise IntakeError(
            f"{path} cannot be graded: {getattr(error, 'strerror', None) or error}. "
            "Check the path, and run this from the folder it is relative to."
        ) from error
    entries = _entries(real, name, assignment) if within is None else nested.folders(real, within)
    if entries is None:
        raise IntakeError(
            f"{path} cannot be graded: it is neither a folder nor a .py, .ipynb or .zip file. "
            "Give one of those, or a folder of them."
        )
    if not entries:
        raise IntakeError(
            f"{path} holds nothing to grade: no folder, .py, .ipynb or .zip is in it. "
            "Check that this is the folder the submissions were saved to."
        )

    entries = own_ids(entries)

    def read(entry: Entry) -> Submission:
        return assemble(entry, assignment)

    submissions = [
        unreadable(entry, assignment, f"{shown(entry.id)} {outcome.reason}")
        if isinstance(outcome, Unread)
        else outcome
        for entry, outcome in zip(entries, each(read, entries), strict=True)
    ]
    return sorted(submissions, key=lambda submission: submission.id)


def _entries(path: Path, name: str, assignment: Assignment) -> list[Entry] | None:
    """What the first source that knows this kind of path finds there; None where none does."""
    found = (source.entries(path, name, assignment) for source in sources())
    return next((entries for entries in found if entries is not None), None)
