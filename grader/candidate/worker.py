"""The process that runs one submission's code: confines itself, then answers the examiner's calls."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import wire
from .accelerator import CHOSEN_BY, real_accelerator
from .faults import describe
from .frames import from_bytes, to_bytes
from .values import MalformedValue, decode, encode
from .workbench import Workbench

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class WorkerLimits:
    """What a worker may use: bytes of memory beyond the interpreter's own, CPU seconds, bytes a file."""

    memory_bytes: int = 2048 * 1024 * 1024
    cpu_seconds: int = 150
    file_bytes: int = 64 * 1024 * 1024
    open_files: int = 128


def settle(connection: socket.socket, output: int) -> socket.socket:
    """Leave the parent's world: own session, no descriptors but ``connection``, output captured.

    Returns the connection on its new descriptor. The environment is emptied, but for the choice of a GPU.
    """
    with contextlib.suppress(PermissionError):  # a cold worker leads its session already
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(connection.fileno(), 3)
    connection.detach()
    os.closerange(4, _highest_descriptor())
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False, errors="replace")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="replace")
    sys.argv = ["candidate"]
    kept = {name: os.environ[name] for name in CHOSEN_BY if name in os.environ}
    os.environ.clear()
    os.environ.update(kept)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    return socket.socket(fileno=3)


def _highest_descriptor() -> int:
    with contextlib.suppress(OSError, ValueError):
        return max(map(int, os.listdir("/proc/self/fd"))) + 1
    return 4096


def limit(limits: WorkerLimits) -> None:
    """Set what the kernel will hold this process to. Does nothing where there are no such limits."""
    try:
        import resource
    except ImportError:
        return
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    # a GPU's driver maps far more memory than it uses: no limit on that can be kept then
    if sys.platform == "linux" and real_accelerator() is None:
        # RLIMIT_AS counts mapped libraries too: allow what is mapped already, and then the limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted[resource.RLIMIT_AS] = pages * resource.getpagesize() + limits.memory_bytes
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (ceiling, ceiling))


def die_with_parent() -> None:
    """On Linux: be killed when the process that started this one ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def serve(connection: socket.socket) -> None:
    """Answer requests until the examiner hangs up. The first request is ``open``."""
    workbench: Workbench | None = None
    while True:
        try:
            message, tensors = from_bytes(*wire.receive_frame(connection))
        except wire.WireError:
            return
        number = message["id"]
        value = None
        try:
            for operation, arguments in decode(message["steps"], tensors, keep_strides=True):
                if operation == "open":
                    workbench = _open(arguments)
                    value = asdict(workbench.accelerator)
                elif workbench is None:
                    raise MalformedValue("nothing was opened yet")
                else:
                    value = workbench.perform(operation, arguments)
            tree, payload = encode(value)
            reply: dict[str, Any] = {"id": number, "ok": tree}
        except BaseException as error:
            folder = workbench.folder if workbench else Path("/nonexistent")
            reply, payload = {"id": number, "error": describe(error, folder)}, {}
        _flush()
        try:
            wire.send_frame(connection, *to_bytes(reply, payload))
        except wire.WireClosed:
            return
        except Exception as error:  # too large, or no memory left to write it down
            refused = {"id": number, "error": describe(MalformedValue(str(error)), Path("/nonexistent"))}
            wire.send_frame(connection, *to_bytes(refused, {}))


def _open(arguments: dict[str, Any]) -> Workbench:
    folder = Path(arguments["folder"])
    os.environ["HOME"] = os.environ["TMPDIR"] = arguments["scratch"]
    os.chdir(arguments["scratch"])
    sys.dont_write_bytecode = True
    return Workbench(folder, arguments["homes"], arguments["refused"])


def _flush() -> None:
    for name in ("stdout", "stderr"):
        with contextlib.suppress(BaseException):
            getattr(sys, name).flush()


def main(connection: socket.socket, output: int, limits: WorkerLimits, forget: str | None = None) -> None:
    """Become the worker: never returns. ``forget`` is a folder to take off ``sys.path``."""
    code = 70
    try:
        die_with_parent()
        settled = settle(connection, output)
        limit(limits)
        sys.path[:] = [entry for entry in sys.path if entry and entry != forget]
        serve(settled)
        code = 0
    finally:
        os._exit(code)
