"""Reading strangers' files in a process of its own, with limits on its processor time and its memory.

A few megabytes of source can be written so that building their syntax trees takes minutes or gigabytes,
and so that a parser written in C crashes. Whoever hands that in should lose by it, and nobody else.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Generic, TypeVar

from grader.submissions.gathered import MIB, IntakeError

_SECONDS = 10  # of processor time, so that a busy machine costs nobody anything; the usual is far below one
_BYTES = 1024 * MIB  # beyond what this process has already
_USED_UP = _BYTES // 4  # a reader that holds this much makes way for a fresh one
_OUT_OF_MEMORY, _RAISED = 71, 72  # exit codes

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Unread:
    """In place of an outcome: why there is none, the rest of a sentence that begins with the item's name."""

    reason: str


def each(read: Callable[[Item], Outcome], items: Sequence[Item]) -> Iterator[Outcome | Unread]:
    """``read(item)`` of every item, in order, where that ends within the limits.

    What ``read`` raises is raised here, too. Where a process cannot be forked safely (elsewhere than on
    Linux) the reading is done in this one, without limits. Raises IntakeError when no process can be had.
    """
    if sys.platform != "linux":
        yield from map(read, items)
        return
    first = 0
    while first < len(items):
        reader = _Reader(read, items[first:])
        for outcome in reader.outcomes():
            first += 1
            yield outcome
        if reader.exit_code and first < len(items):
            # Where it raised something, it will do so again: here, where it can be seen.
            yield read(items[first]) if reader.exit_code == _RAISED else Unread(_why(reader.exit_code))
            first += 1


class _Reader(Generic[Outcome]):
    """A fork of this process that reads one item after another and hands over what came of it.

    By pickle, which is safe here: nothing a stranger wrote is ever run in that process.
    """

    def __init__(self, read: Callable[[Item], Outcome], items: Sequence[Item]) -> None:
        receiving, sending = os.pipe()
        try:
            self._pid = os.fork()
        except OSError as error:
            os.close(receiving)
            os.close(sending)
            raise IntakeError(
                f"No process could be started to read the submissions in: {error.strerror}. "
                "Close other programs, then try again."
            ) from error
        if self._pid == 0:
            os.close(receiving)
            _read_all(read, items, sending)
        os.close(sending)
        self._pipe = os.fdopen(receiving, "rb")
        self.exit_code = 0

    def outcomes(self) -> Iterator[Outcome]:
        """What was read, up to where the reader ended; ``exit_code`` then says why (negative: a signal)."""
        try:
            # EOFError: it ended between two; UnpicklingError: in the middle of one
            with self._pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
                while True:
                    yield pickle.load(self._pipe)
        except BaseException:  # nobody waits for the rest
            os.kill(self._pid, signal.SIGKILL)
            raise
        finally:
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _read_all(read: Callable[[Item], Outcome], items: Sequence[Item], sending: int) -> None:
    """Become the reader: never returns."""
    code = _RAISED
    try:
        at_start = _limit_memory()
        with os.fdopen(sending, "wb") as pipe:
            for item in items:
                _limit_time()
                _send(read(item), pipe)
                if _held() - at_start > _USED_UP:
                    break
        code = 0
    except MemoryError:
        code = _OUT_OF_MEMORY
    finally:
        os._exit(code)


def _send(outcome: object, pipe: BinaryIO) -> None:
    pickle.dump(outcome, pipe)
    pipe.flush()


def _limit_memory() -> int:
    """Returns what was held before."""
    import resource

    held = _held()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_DATA, held + _BYTES)
    return held


def _limit_time() -> None:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + _SECONDS)


def _lower(kind: int, limit: int) -> None:
    import resource

    _, most = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


def _held() -> int:
    """Bytes of memory that this process has for itself, as RLIMIT_DATA counts them."""
    with open("/proc/self/status", "rb") as status:
        line = next(line for line in status if line.startswith(b"VmData:"))
    return int(line.split()[1]) * 1024


def _why(code: int) -> str:
    if code == -signal.SIGKILL:
        raise IntakeError(
            "The process that reads the submissions in was killed, most likely because the machine has too "
            "little memory. Close other programs, then try again."
        )
    if code == -signal.SIGXCPU:
        what = f"takes more than {_SECONDS} s of processor time to read"
    elif code == _OUT_OF_MEMORY:
        what = f"takes more than {_BYTES // MIB} MiB of memory to read"
    else:
        what = "cannot be read: Python's own parser crashes on it"
    return f"{what}. Hand in your exercise files alone, without data and generated code."
