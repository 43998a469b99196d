"""Starting workers: warm, forked from a host that has torch loaded, or cold, one process each."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, Self

from grader.candidate.accelerator import CHOSEN_BY
from grader.candidate.faults import HostFailed
from grader.sandbox.host import READY
from grader.sandbox.levels import ROOT, Level, offered, warm_start_possible
from grader.sandbox.limits import WorkerLimits
from grader.sandbox.namespaces import wrapped
from grader.sandbox.probing import boot
from grader.sandbox.stage import Stage, new_folder, remove

_START_SECONDS = 120.0
_BURIAL_SECONDS = 5.0
# what an interpreter needs to find its libraries; nothing of the caller's own environment
_PASSED_ON = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "SYSTEMROOT",
    *CHOSEN_BY,
)


class Worker(Protocol):
    """A started worker: its connection, where its output arrives, and how to end it."""

    connection: socket.socket
    output: int
    breach: str  # the limit for which it was ended, known with its exit code

    def kill(self) -> None:
        """End it and all it started."""

    def exit_code(self, wait_seconds: float) -> int | None:
        """How it ended by itself (negative: by that signal); None when that is not known in time.

        Raises HostFailed when what started it is gone too.
        """


class Launcher(Protocol):
    """Starts workers, each on its stage, which has to lie in ``stages`` if that is given."""

    level: Level
    stages: Path | None

    def ready(self) -> None:
        """Wait until workers can be started. Raises HostFailed when they cannot."""

    def revive(self) -> bool:
        """Start anew what should be running and is not; whether that was needed. Raises HostFailed."""

    def start(self, limits: WorkerLimits, stage: Stage) -> Worker:
        """Raises HostFailed when no worker can be started."""

    def close(self) -> None:
        """End everything that was started."""


# Every worker touches its memory for the first time, a page at a time, and a large tensor has
# thousands of them: huge pages where the kernel has them, and what was let go is kept for the next.
# glibc reads this when a process starts; other systems' libraries do not look for it.
_MEMORY = {
    "glibc.malloc.hugetlb": 1,
    "glibc.malloc.mmap_threshold": 2**30,
    "glibc.malloc.trim_threshold": 2**31,
    "glibc.malloc.top_pad": 2**26,
}


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    tunables = ":".join(f"{name}={value}" for name, value in _MEMORY.items())
    return {
        **passed,
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GLIBC_TUNABLES": tunables,
    }


class WarmHost:
    """Workers forked from one host process. Linux only; may be used from forks of this process."""

    def __init__(self, level: Level = Level.PROCESS, *, for_bonus: bool = False) -> None:
        self.level = level
        self._for_bonus = for_bonus
        try:
            stages = new_folder()
            stages.chmod(0o711)  # workers have to pass through it to their own
        except OSError as error:
            raise HostFailed(
                f"No folder for the submissions' files could be made: {error}. Make room in the folder for "
                "temporary files, or name another one in the environment variable TMPDIR."
            ) from error
        self.stages: Path | None = stages
        try:
            self._launch(stages)
        except OSError as error:
            remove(stages)
            raise HostFailed(
                f"The host that runs submissions could not be started: {error}. End what else runs on this "
                "machine, or give it more memory and processes, then try again."
            ) from error

    def _launch(self, stages: Path) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        told = (theirs.fileno(), str(ROOT), str(self.level), self._for_bonus)
        command = boot("host", f"host.main(*{told!r})")
        with theirs:
            self._process = subprocess.Popen(
                wrapped(command, stages) if self.level is Level.NAMESPACED else command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        self._control = ours
        self._is_ready = False

    def ready(self) -> None:
        """Wait until it has loaded what it needs; other work can be done between start and this."""
        if self._is_ready:
            return
        self._control.settimeout(_START_SECONDS)
        try:
            answer = self._control.recv(64)
        except OSError as error:
            answer = str(error).encode()
        self._control.settimeout(None)
        if answer != READY:
            self.close()
            raise HostFailed(
                "The host that runs submissions did not start. Its own words, if any, stand above; "
                "`python -m grader doctor` says what this machine can do."
            )
        self._is_ready = True

    def revive(self) -> bool:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(0):  # it says nothing once it is ready, and hangs up when it ends
            return False
        self._control.close()
        self._bury()
        assert self.stages is not None
        self._is_ready = False
        try:
            self._launch(self.stages)
        except OSError as error:
            raise HostFailed(f"The host that runs submissions ended; no other starts: {error}.") from error
        self.ready()
        return True

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether it runs still. Only in the process that started it."""
        return self._process.poll() is None

    def start(self, limits: WorkerLimits, stage: Stage) -> Worker:
        self.ready()
        connection, theirs = socket.socketpair()
        lifeline, their_lifeline = socket.socketpair()
        output, their_output = os.pipe()
        try:
            descriptors = [theirs.fileno(), their_output, their_lifeline.fileno()]
            asked = {"limits": asdict(limits), "folder": str(stage.folder), "user": stage.user}
            socket.send_fds(self._control, [json.dumps(asked).encode()], descriptors)
        except OSError as error:
            raise HostFailed("The host that runs submissions is gone. Start the grader again.") from error
        finally:
            theirs.close()
            their_lifeline.close()
            os.close(their_output)
        return _WarmWorker(connection, output, lifeline)

    def close(self) -> None:
        self._control.close()
        self._bury()
        if self.stages is not None:
            remove(self.stages)

    def _bury(self) -> None:
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _WarmWorker:
    def __init__(self, connection: socket.socket, output: int, lifeline: socket.socket) -> None:
        self.connection = connection
        self.output = output
        self.breach = ""
        self._lifeline = lifeline

    def kill(self) -> None:
        # hang up, then wait for the host to say that it is done: what is left could write on
        with contextlib.suppress(OSError):
            self._lifeline.shutdown(socket.SHUT_WR)
            self._lifeline.settimeout(_BURIAL_SECONDS)
            while self._lifeline.recv(256):
                pass
        self._lifeline.close()
        self.connection.close()
        if self.output >= 0:
            os.close(self.output)
            self.output = -1

    def exit_code(self, wait_seconds: float) -> int | None:
        self._lifeline.settimeout(wait_seconds)
        try:
            word = self._lifeline.recv(256)
        except OSError:
            return None
        if not word:
            raise HostFailed(
                "The host that runs submissions ended, or could start no more processes. Grade again with "
                "--resume; should it come back, one of the submissions in progress may be the cause."
            )
        told = json.loads(word)
        self.breach = str(told["breach"])
        code = told["exit"]
        return code if isinstance(code, int) else None


class ColdStarter:
    """A fresh interpreter for every worker: slower, for platforms without a safe fork."""

    stages: Path | None = None

    def __init__(self, level: Level = Level.PROCESS) -> None:
        if level > Level.CONFINED:
            raise HostFailed(f"Workers that start cold cannot be {level}; ask for {Level.CONFINED}.")
        self.level = level

    def ready(self) -> None:
        """There is nothing to wait for."""

    def revive(self) -> bool:
        return False

    def start(self, limits: WorkerLimits, stage: Stage) -> Worker:
        connection, theirs = socket.socketpair()
        output, their_output = os.pipe()
        call = (
            f"worker.start_cold({theirs.fileno()}, {asdict(limits)!r}, {str(stage.folder)!r}, "
            f"{stage.user!r}, {str(self.level)!r}, {str(ROOT)!r})"
        )
        try:
            process = subprocess.Popen(
                boot("worker", call),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=their_output,
                stderr=their_output,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise HostFailed(f"No worker could be started: {error}.") from error
        finally:
            theirs.close()
            os.close(their_output)
        return _ColdWorker(connection, output, process)

    def close(self) -> None:
        """Each worker is ended by its own examiner."""


class _ColdWorker:
    def __init__(self, connection: socket.socket, output: int, process: subprocess.Popen[bytes]) -> None:
        self.connection = connection
        self.output = output
        self.breach = ""
        self._process = process

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self.connection.close()
        if self.output >= 0:
            os.close(self.output)
            self.output = -1

    def exit_code(self, wait_seconds: float) -> int | None:
        try:
            return self._process.wait(wait_seconds)
        except subprocess.TimeoutExpired:
            return None


def launcher(level: Level | None = None, *, for_bonus: bool = False) -> Launcher:
    """The fastest way to start workers on this platform, at that level or the highest offered.

    ``for_bonus`` loads beforehand what only bonus exercises need (a second, once).
    """
    level = offered() if level is None else level
    return WarmHost(level, for_bonus=for_bonus) if warm_start_possible() else ColdStarter(level)
