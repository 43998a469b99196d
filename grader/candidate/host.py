"""The warm host: imports torch once, then forks a worker for each request. It holds no secrets.

It is told what to do on a socket it inherits. Each request is one datagram with three
descriptors: the worker's end of its connection, where its output goes, and a lifeline. When the
examiner closes its end of the lifeline, or ends, the worker is killed with all it started; when
the worker ends by itself, its status is reported on the lifeline.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from . import worker
from .warmth import warm_up, warm_up_accelerator

_PR_SET_CHILD_SUBREAPER = 36
READY = b"ready"


class Host:
    """Forks workers and buries them. One thread, one loop."""

    def __init__(self, control: socket.socket, forget: str) -> None:
        self._control = control
        self._forget = forget
        self._lifelines: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)

    def run(self) -> None:
        """Serve until the control socket closes; then kill every worker."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ, self._on_request)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._on_child)
        self._open = True
        while self._open:
            for key, _ in self._selector.select():
                key.data()
        for pid in list(self._lifelines):
            _kill(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        self._lifelines.clear()
        self._bury_orphans()

    def _on_request(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self._control, 4096, 3)
        if not message:
            self._open = False
            return
        connection, output, lifeline = descriptors
        limits = worker.WorkerLimits(**json.loads(message))
        try:
            pid = os.fork()
        except OSError:  # no more processes: a lifeline that closes without a word says so
            for descriptor in descriptors:
                os.close(descriptor)
            return
        if pid == 0:
            worker.main(socket.socket(fileno=connection), output, limits, self._forget)
        os.close(connection)
        os.close(output)
        line = socket.socket(fileno=lifeline)
        self._lifelines[pid] = line
        self._selector.register(line, selectors.EVENT_READ, lambda: self._on_lifeline(pid))

    def _on_lifeline(self, pid: int) -> None:
        # whatever happens on it, the examiner is done with this worker
        line = self._lifelines.get(pid)
        if line is not None:
            self._selector.unregister(line)
            _kill(pid)

    def _on_child(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_read.recv(4096)
        ended: list[tuple[socket.socket, int]] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            line = self._lifelines.pop(pid, None)
            if line is not None:
                _kill_group(pid)
                ended.append((line, status))
        self._bury_orphans()
        for line, status in ended:  # last, so that who waits for the word finds nothing left behind
            self._report(line, status)

    def _report(self, line: socket.socket, status: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(line)
        with contextlib.suppress(OSError):
            line.send(json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode())
        line.close()

    def _bury_orphans(self) -> None:
        """Kill what workers left behind: as subreaper, the host inherits their orphans."""
        for _ in range(100):
            orphans = [pid for pid in _children() if pid not in self._lifelines]
            if not orphans:
                return
            for pid in orphans:
                _kill(pid)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def _children() -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _kill(pid: int) -> None:
    _kill_group(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def main(control: int, root: str) -> None:
    """Run the host on an inherited descriptor; ``root`` is the project's folder, kept from workers."""
    worker.die_with_parent()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the examiner's to handle
    warm_up_accelerator()
    warm_up()
    connection: Any = socket.socket(fileno=control)
    connection.send(READY)
    Host(connection, root).run()
    sys.exit(0)
