"""A candidate in this very process: a student's own run, where print and breakpoint() work."""

from __future__ import annotations

import bdb
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from grader.candidate.accelerator import Accelerator
from grader.candidate.faults import HostFailed, OutOfTime, describe, revive
from grader.candidate.interface import Candidate, Step
from grader.candidate.values import plain
from grader.candidate.workbench import Workbench


class LocalTransport:
    """Performs operations directly; the student's exception stays the cause of what is raised.

    With ``call_seconds``, a call that takes longer is stopped where the system has interval timers
    (not on Windows), and at the next line of Python that it reaches.
    """

    generation = 0
    isolation = "none"

    def __init__(
        self,
        folder: Path,
        homes: Mapping[str, str],
        refused: Mapping[str, Sequence[str]],
        call_seconds: float | None = None,
        objects: Mapping[str, object] | None = None,
    ) -> None:
        self._workbench = Workbench(folder, homes, refused, objects)
        self._folder = folder
        self._call_seconds = call_seconds

    def request(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        patience: float = 1.0,
        before: Sequence[Step] = (),
    ) -> Any:
        seconds = None if self._call_seconds is None else patience * self._call_seconds
        try:
            with _within(seconds):
                for earlier, its_arguments in before:
                    self._workbench.perform(earlier, plain(dict(its_arguments)))
                return self._workbench.perform(operation, plain(dict(arguments)))
        except _Overdue as error:
            lines = revive(describe(error, self._folder)).lines
            raise OutOfTime.after(seconds or 0.0, lines) from None
        except (KeyboardInterrupt, bdb.BdbQuit, HostFailed):
            raise
        except BaseException as error:
            raise revive(describe(error, self._folder)) from error

    def accelerator(self) -> Accelerator:
        return self._workbench.accelerator

    def close(self) -> None:
        """There is no worker to end."""


def local_candidate(
    folder: Path,
    homes: Mapping[str, str],
    refused: Mapping[str, Sequence[str]] | None = None,
    problems: Mapping[str, str] | None = None,
    call_seconds: float | None = None,
    objects: Mapping[str, object] | None = None,
) -> Candidate:
    """The code in ``folder`` as a candidate that runs here and is trusted as its author is.

    With ``objects`` the code is what these names stand for, as in a notebook's kernel; ``folder`` is
    then where its source lies.
    """
    transport = LocalTransport(folder, homes, refused or {}, call_seconds, objects)
    return Candidate(transport, homes, problems)


class _Overdue(BaseException):
    """Raised in the midst of a call that takes too long; no ``except Exception`` should hold it up."""


@contextmanager
def _within(seconds: float | None) -> Iterator[None]:
    """Raise _Overdue in the block once it has taken so long, and again each second until it ends."""
    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not timed:
        yield
        return
    over = False

    def ring(number: int, frame: FrameType | None) -> None:
        if not over and not _is_debugging():  # at a breakpoint a person takes their time
            raise _Overdue

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_debugging() -> bool:
    monitoring = getattr(sys, "monitoring", None)  # what debuggers use from Python 3.14 on
    watched = monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
    return watched or sys.gettrace() is not None
