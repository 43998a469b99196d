"""The append-only record of finished submissions: what survives a kill at any moment.

One line of JSON a submission, a whole Result, written in one call and synced before the next.
Nothing that was ever finished is deleted: a fresh run keeps the old journal under another name.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.errors import UsageError
from grader.results import Result, Status, storable
from grader.store.packed_results import KeptResults
from grader.store.writing import NotWritten, explained, name_aside

if sys.platform != "win32":
    import fcntl

NAME = "journal.jsonl"

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class JournalError(UsageError):
    """The journal cannot be opened; the message says what, why and what to try."""


class Mark(BaseModel):
    """A place in a journal: so many bytes from its start, which hash to this."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int
    sha256: str


class Journal:
    """The journal of one output folder, held by one grader at a time.

    ``results`` has the latest result of each submission, ``warnings`` what was found damaged
    on opening, in sentences for the person who runs the grader.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """For ``start`` and ``resume``: ``descriptor`` is open for appending, and locked."""
        self.path = path
        self.results = KeptResults()
        self.warnings: list[str] = []
        self._descriptor: int | None = descriptor
        _OPEN.add(self)

    @classmethod
    def start(cls, out: Path) -> Self:
        """Begin a fresh run in ``out``, which is made if need be.

        A journal already there that holds anything is kept as ``journal-<UTC time>.jsonl``.
        Raises JournalError when the folder cannot be written or another grader holds it.
        """
        path = out / NAME
        descriptor = _open(path)
        if os.fstat(descriptor).st_size:
            descriptor = _set_aside(path, descriptor)
        return cls(path, descriptor)

    @classmethod
    def resume(cls, out: Path) -> Self:
        """Go on with what ``out`` holds; with no journal there, the same as ``start``.

        A last line that was cut short is removed, a damaged line elsewhere is left and skipped;
        both are told in ``warnings``.
        Raises JournalError when the folder cannot be written or another grader holds it.
        """
        path = out / NAME
        journal = cls(path, _open(path))
        try:
            journal._read()
        except OSError as error:
            journal.close()
            raise JournalError(explained(error, path)) from error
        except JournalError:
            journal.close()
            raise
        return journal

    def finished(self, submission_id: str, *, suite: str, source: str) -> Result | None:
        """The result to reuse: of this submission, for this suite and source, and not a fault of ours."""
        result = self.results.get(storable(submission_id))
        if result is None or result.status is Status.INFRASTRUCTURE_ERROR:
            return None
        return result if (result.suite, result.source) == (suite, source) else None

    def append(self, result: Result) -> None:
        """Record ``result``; when this returns, it is on the disk.

        Raises NotWritten when it could not be written whole; what was there before stays.
        Raises JournalError when the journal is closed.
        """
        if self._descriptor is None:
            raise JournalError(
                f"{self.path} is closed, so no result can be added. Open it again with resume."
            )
        line = result.model_dump_json(by_alias=True).encode("utf-8") + b"\n"
        try:
            before = os.fstat(self._descriptor).st_size
            try:
                written = os.write(self._descriptor, line)
                if written < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                self._take_back(before)
                raise
            os.fsync(self._descriptor)
        except OSError as error:
            raise NotWritten(explained(error, self.path)) from error
        self.results.keep(result, line)

    def mark(self) -> Mark:
        """Where the journal ends now. Raises JournalError when it cannot be read."""
        content = self._content()
        return Mark(size=len(content), sha256=hashlib.sha256(content).hexdigest())

    def before(self, mark: Mark) -> KeptResults | None:
        """The latest result of each submission when ``mark`` was made; None when that was in another journal.

        Raises JournalError when the journal cannot be read.
        """
        content = self._content()[: mark.size]
        if hashlib.sha256(content).hexdigest() != mark.sha256:
            return None
        found = KeptResults()
        for _, line, result in _lines(content):
            if isinstance(result, Result):
                found.keep(result, line)
        return found

    def close(self) -> None:
        """Let go of the journal, and with it of the lock. Closing twice does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        _OPEN.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take_back(self, size: int) -> None:
        """Shrink to ``size``, which a full disk allows: a half line would swallow the next one."""
        assert self._descriptor is not None
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:
            self.close()  # nothing may follow the half line; resume will remove it

    def _content(self) -> bytes:
        assert self._descriptor is not None
        try:
            with os.fdopen(os.dup(self._descriptor), "rb") as file:
                file.seek(0)
                return file.read()
        except OSError as error:
            raise JournalError(explained(error, self.path)) from error

    def _read(self) -> None:
        assert self._descriptor is not None
        content = self._content()
        kept = _whole_part(content)
        if kept < len(content):
            os.ftruncate(self._descriptor, kept)
            os.fsync(self._descriptor)
            self.warnings.append(
                f"The last line of {self.path} was cut short ({len(content) - kept} bytes), "
                "so it was removed. That submission will be graded again."
            )
        for number, line, result in _lines(content[:kept]):
            if isinstance(result, Result):
                self.results.keep(result, line)
            else:
                self.warnings.append(
                    f"Line {number} of {self.path} is not a result ({result.errors()[0]['msg']}), "
                    "so it was skipped. It is still in the file; its submission will be graded again."
                )


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


def _leave_to_parent() -> None:
    # A lock lives as long as any process has the file open. A forked child must not keep it after
    # its parent was killed, nor unlock it now: it closes its copy and leaves the lock alone.
    for journal in list(_OPEN):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _lines(content: bytes) -> Iterator[tuple[int, bytes, Result | ValidationError]]:
    """Each line that holds anything: its number, its text, and its result or why it is none."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, line, Result.model_validate_json(line)
            except ValidationError as error:
                yield number, line, error


def _whole_part(content: bytes) -> int:
    """How many bytes from the start are whole lines, the last of them at least JSON."""
    end = content.rfind(b"\n") + 1
    if end < len(content) or end == 0:
        return end
    last = content.rfind(b"\n", 0, end - 1) + 1
    try:
        json.loads(content[last:end])
    except ValueError:
        return last if content[last:end].strip() else end
    return end


def _open(path: Path) -> int:
    """Open the journal for appending, made if need be and locked. Raises JournalError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor = os.open(path, _FLAGS, 0o644)
            try:
                _lock(descriptor)
                # Another grader may have renamed the file between our opening and locking it.
                if _is_still(path, descriptor):
                    _sync_folder(path.parent)
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
    except OSError as error:
        raise JournalError(explained(error, path)) from error


def _set_aside(path: Path, descriptor: int) -> int:
    """Keep the journal under a name of its own; returns a new, empty and locked one."""
    kept = name_aside(path)
    try:
        if sys.platform == "win32":  # an open file cannot be renamed there
            os.close(descriptor)
            path.rename(kept)
        else:  # renamed while locked: no other grader can take it for a journal to go on with
            try:
                path.rename(kept)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise JournalError(explained(error, path)) from error
    return _open(path)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    """Make the journal's name as durable as its lines."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
