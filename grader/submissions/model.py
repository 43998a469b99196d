"""A submission as the rest of the grader sees it, whatever platform it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Submission:
    """What one student handed in, read but never executed.

    ``files`` holds only what may reach the candidate: the files that define an exercise's
    names and the student's own modules those files import, as Python source.
    ``homes`` says in which of them each name is defined. ``problems`` says, for a name that
    cannot be examined, why not, in a sentence for the student. ``unreadable`` is set when
    nothing of the submission could be read. ``originals`` says, for a key of ``files``, the
    name by which the student knows that file; it is for messages and no part of the hash.
    """

    id: str
    path: Path
    files: Mapping[str, bytes] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    unreadable: str | None = None
    originals: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def source(self) -> str:
        """A hash of all that decides the outcome: the files, where names live, the problems."""
        digest = hashlib.sha256()
        parts: list[tuple[str, str | bytes]]
        parts = [*sorted(self.files.items()), *sorted(self.homes.items()), *sorted(self.problems.items())]
        for name, content in [*parts, ("unreadable", self.unreadable or "")]:
            for piece in (name, content):
                data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()
