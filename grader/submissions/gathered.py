"""What every source hands over: the code files of one submission by name, and how much is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import UsageError

KIB = 1024
MIB = 1024 * KIB

MAX_DEPTH = 6  # folders inside folders
MAX_FILES = 2000
SOURCE_BYTES = 1 * MIB
NOTEBOOK_BYTES = 8 * MIB  # a notebook also carries its outputs: every plot is a picture
TOTAL_BYTES = 16 * MIB


@dataclass
class Gathered:
    """One submission's code files, read but not yet understood.

    ``files`` maps a file's posix path inside the submission to its content. ``refused`` says, for
    a file that was not read, why not: the rest of a sentence that begins with the file's name.
    ``remarks`` are whole sentences worth telling a student whose answer was not found.
    ``fatal`` is set when nothing could be read.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    fatal: str | None = None


@dataclass(frozen=True)
class Entry:
    """One submission that a source found; ``gather`` reads it, later and on its own."""

    id: str
    path: Path
    gather: Callable[[], Gathered]


class IntakeError(UsageError):
    """The path given to the grader holds nothing to grade; the message says why and what to try."""
