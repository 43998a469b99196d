"""The warm host: imports torch once, then forks a worker for each request. It holds no secrets.

It is told what to do on a socket it inherits. Each request is one datagram with three
descriptors: the worker's end of its connection, where its output goes, and a lifeline. When the
examiner closes its end of the lifeline, or ends, the worker is killed with all it started; when
the worker ends by itself, or for using too much, that is reported on the lifeline.
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
import time
from pathlib import Path
from typing import Any

from grader.candidate.accelerator import real_accelerator
from grader.sandbox import worker
from grader.sandbox.levels import Level
from grader.sandbox.limits import CPU, WorkerLimits
from grader.sandbox.rules import Rules, find_rules
from grader.sandbox.stage import Stage
from grader.sandbox.warmth import warm_up, warm_up_accelerator, warm_up_rarer
from grader.sandbox.watchdog import TICK_SECONDS, Watch, children, descendants

_PR_SET_CHILD_SUBREAPER = 36
READY = b"ready"


class Host:
    """Forks workers and buries them. One thread, one loop."""

    def __init__(self, control: socket.socket, forget: str, rules: Rules) -> None:
        self._control = control
        self._forget = forget
        self._rules = rules
        self._watches: dict[int, Watch] = {}
        self._breaches: dict[int, str] = {}
        self._looked = 0.0
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
            for key, _ in self._selector.select(TICK_SECONDS if self._watches else None):
                key.data()
            self._look_after_workers()
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
        asked = json.loads(message)
        limits = WorkerLimits(**asked["limits"])
        stage = Stage(Path(asked["folder"]), asked["user"])
        try:
            pid = os.fork()
        except OSError:  # no more processes: a lifeline that closes without a word says so
            for descriptor in descriptors:
                os.close(descriptor)
            return
        if pid == 0:
            worker.main(socket.socket(fileno=connection), output, limits, stage, self._rules, self._forget)
        os.close(connection)
        os.close(output)
        line = socket.socket(fileno=lifeline)
        self._lifelines[pid] = line
        self._watches[pid] = Watch(pid, limits, stage.scratch, has_family=not self._rules.confines)
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
        ended: list[tuple[socket.socket, int, str]] = []
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            line = self._lifelines.pop(pid, None)
            watch = self._watches.pop(pid, None)
            breach = self._breaches.pop(pid, "")
            if line is not None and watch is not None:
                _kill_group(pid)
                code = os.waitstatus_to_exitcode(status)
                ended.append((line, code, breach or _breach_of_kernel(code, usage, watch.limits)))
        self._bury_orphans()
        for line, code, breach in ended:  # last, so that who waits for the word finds nothing left behind
            self._report(line, code, breach)

    def _report(self, line: socket.socket, code: int, breach: str) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(line)
        with contextlib.suppress(OSError):
            line.send(json.dumps({"exit": code, "breach": breach}).encode())
        line.close()

    def _look_after_workers(self) -> None:
        """End the workers that use more than they may, once every so often."""
        if not self._watches or time.monotonic() - self._looked < TICK_SECONDS:
            return
        for pid, watch in self._watches.items():
            if pid not in self._breaches and (breach := watch.breach()):
                self._breaches[pid] = breach
                self._kill_family(pid)
        self._looked = time.monotonic()

    def _kill_family(self, pid: int) -> None:
        relatives = descendants(pid) if not self._rules.confines else []
        _kill(pid)
        for relative in relatives:
            _kill(relative)

    def _bury_orphans(self) -> None:
        """Kill what workers left behind: as subreaper, the host inherits their orphans."""
        for _ in range(100):
            orphans = [pid for pid in children(os.getpid()) if pid not in self._lifelines]
            if not orphans:
                return
            for pid in orphans:
                _kill(pid)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def _breach_of_kernel(code: int, usage: Any, limits: WorkerLimits) -> str:
    """The limit for which the kernel has ended a process; empty when it was for none."""
    spent = usage.ru_utime + usage.ru_stime
    used_up = -code == signal.SIGXCPU or (-code == signal.SIGKILL and spent >= limits.cpu_seconds)
    return CPU if used_up else ""


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _kill(pid: int) -> None:
    _kill_group(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def main(control: int, root: str, level: str, for_bonus: bool = False) -> None:
    """Run the host on an inherited descriptor; ``root`` is the project's folder, kept from workers."""
    worker.die_with_parent()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the examiner's to handle
    warm_up_accelerator()
    rules = find_rules(Level.named(level), accelerator=real_accelerator() is not None)
    if for_bonus:
        warm_up_rarer()
    warm_up()
    connection: Any = socket.socket(fileno=control)
    connection.send(READY)
    Host(connection, root, rules).run()
    sys.exit(0)
