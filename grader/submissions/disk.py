"""Reading a stranger's files: regular ones only, never through a link, never more than asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from grader.submissions.gathered import MIB

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not wait for a writer
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class UnreadableError(Exception):
    """A file is not read; the message is the rest of a sentence that begins with the file's name."""


def kind_refused(mode: int) -> str | None:
    """Why a file of this ``st_mode`` is not read; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISLNK(mode):
        return "is a link, and what a link points to was not handed in. Hand in the file itself."
    return "is not a regular file but a pipe, a socket or a device. Hand in an ordinary file."


def read_regular(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes. Raises UnreadableError."""
    try:
        if refusal := kind_refused(os.lstat(path).st_mode):  # before opening: opening a device can act
            raise UnreadableError(refusal)
        descriptor = os.open(path, _FLAGS)
        with open(descriptor, "rb") as file:
            if refusal := kind_refused(os.fstat(descriptor).st_mode):
                raise UnreadableError(refusal)
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UnreadableError(
            f"could not be opened: {reason}. Check its permissions and hand it in again."
        ) from error
    if len(content) > limit:
        raise UnreadableError(too_large(limit))
    return content


def too_large(limit: int) -> str:
    return (
        f"is larger than {limit // MIB} MiB, far more than an exercise needs. "
        "Take the data or the outputs out of it and hand it in again."
    )
