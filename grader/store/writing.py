"""Writing a run's files: one error for all that cannot be written, and names for what is kept."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import HeadstartError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_IN_THE_WAY = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


class NotWritten(HeadstartError):
    """A file of a run could not be written; the message says why and what to try.

    What was finished by then stays, and a run with ``--resume`` goes on from there.
    """


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Within it, an OSError is raised as NotWritten, said about ``path``."""
    try:
        yield
    except OSError as error:
        raise NotWritten(explained(error, path)) from error


def explained(error: OSError, path: Path) -> str:
    """What could not be written, why, and what to try."""
    reason = error.strerror or str(error)
    if isinstance(error, BlockingIOError):
        reason = "another grader is writing there"
        advice = "Wait for it to end, or give another --out folder."
    elif error.errno in _FULL:
        advice = "What was finished is kept: make room and run the same command again, `grade` with --resume."
    elif error.errno in _REFUSED:
        advice = "Give an --out folder that you may write to."
    elif error.errno in _IN_THE_WAY:
        advice = "Something else has that name: move it away, or give another --out folder."
        path = Path(error.filename or path)
    else:
        advice = "Give another --out folder, on a local disk if this one is not."
    return f"{path} cannot be written: {reason}. {advice}"


def name_aside(path: Path) -> Path:
    """A name not in use for what is at ``path``, to keep it: ``journal-<UTC time>.jsonl``."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept, number = path.with_name(f"{path.stem}-{stamp}{path.suffix}"), 0
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.stem}-{stamp}-{number}{path.suffix}")
    return kept
