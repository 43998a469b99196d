"""The process that runs one submission's code: confines itself, then answers the examiner's calls."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.candidate.accelerator import CHOSEN_BY, real_accelerator
from grader.candidate.faults import MAX_MESSAGE, describe
from grader.candidate.values import MalformedValue, decode, encode
from grader.candidate.workbench import Workbench
from grader.sandbox import wire
from grader.sandbox.confinement import give_up
from grader.sandbox.frames import from_bytes, to_bytes
from grader.sandbox.levels import Level
from grader.sandbox.limits import WorkerLimits, explanation, limit
from grader.sandbox.rules import Rules, find_rules
from grader.sandbox.stage import Stage

_PR_SET_PDEATHSIG = 1


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


def die_with_parent() -> None:
    """On Linux: be killed when the process that started this one ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def serve(connection: socket.socket, limits: WorkerLimits, *, confined: bool) -> None:
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
            report = describe(error, folder)
            with contextlib.suppress(BaseException):  # the exception's class may define what is looked at
                _explain(report, explanation(error, limits, confined=confined))
            reply, payload = {"id": number, "error": report}, {}
        _flush()
        try:
            wire.send_frame(connection, *to_bytes(reply, payload))
        except wire.WireClosed:
            return
        except Exception as error:  # too large, or no memory left to write it down
            refused = {"id": number, "error": describe(MalformedValue(str(error)), Path("/nonexistent"))}
            wire.send_frame(connection, *to_bytes(refused, {}))


def _explain(report: dict[str, Any], why: str) -> None:
    """Add to an error of the student's code which limit stands behind it."""
    if why and report["kind"] == "raised":
        said = report["message"][: MAX_MESSAGE - len(why) - 2].rstrip(". ")
        report["message"] = f"{said}. {why}" if said else why


def _open(arguments: dict[str, Any]) -> Workbench:
    folder = Path(arguments["folder"])
    os.environ["HOME"] = os.environ["TMPDIR"] = arguments["scratch"]
    os.environ["USER"] = "candidate"  # libraries ask for a name, and the list of users may be closed
    tempfile.tempdir = None  # the host may have looked for another
    os.chdir(arguments["scratch"])
    sys.dont_write_bytecode = True
    return Workbench(folder, arguments["homes"], arguments["refused"])


def _flush() -> None:
    for name in ("stdout", "stderr"):
        with contextlib.suppress(BaseException):
            getattr(sys, name).flush()


def main(
    connection: socket.socket,
    output: int,
    limits: WorkerLimits,
    stage: Stage,
    rules: Rules,
    forget: str | None = None,
) -> None:
    """Become the worker: never returns. ``forget`` is a folder to take off ``sys.path``."""
    code = 70
    try:
        die_with_parent()
        settled = settle(connection, output)
        limit(limits, own_user=stage.user is not None)
        give_up(rules, stage)
        die_with_parent()  # again: the kernel forgets it when the user changes
        sys.path[:] = [entry for entry in sys.path if entry and entry != forget]
        serve(settled, limits, confined=rules.confines)
        code = 0
    except OSError as error:  # the wall could not be put up: said before the student's code is seen
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def start_cold(
    connection: int, limits: dict[str, int], folder: str, user: int | None, level: str, root: str
) -> None:
    """Become the worker in an interpreter of its own; what the warm host prepares is prepared here."""
    rules = find_rules(Level.named(level), accelerator=real_accelerator() is not None)
    stage = Stage(Path(folder), user)
    main(socket.socket(fileno=connection), 1, WorkerLimits(**limits), stage, rules, root)
