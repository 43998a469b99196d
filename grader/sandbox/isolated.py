"""A candidate behind the wall: requests go over a socket, deadlines are kept on this side."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.candidate.accelerator import Accelerator
from grader.candidate.faults import CandidateError, Died, Exhausted, HostFailed, Nonsense, OutOfTime, revive
from grader.candidate.interface import Candidate, Step
from grader.candidate.values import MalformedValue, decode, encode
from grader.sandbox import capacity, wire
from grader.sandbox.frames import from_bytes, to_bytes
from grader.sandbox.launch import Launcher, Worker
from grader.sandbox.limits import SCRATCH, WorkerLimits, explanation_of_end
from grader.sandbox.stage import Stage

_OPEN_SECONDS = 60.0
_DRAIN_READS = 32


@dataclass(frozen=True)
class Deadlines:
    """Seconds of wall clock for one call, and for a submission's calls together."""

    call_seconds: float = 10.0
    submission_seconds: float = 120.0


class Output:
    """What a worker printed: the first bytes of it, and how many there were."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.kept = bytearray()
        self.count = 0

    def add(self, data: bytes) -> None:
        self.count += len(data)
        self.kept += data[: max(0, self._keep - len(self.kept))]

    @property
    def flooded(self) -> bool:
        return self.count > self._keep


class IsolatedTransport:
    """Requests to a worker process, which is replaced when it is late, dead or talking nonsense."""

    def __init__(
        self,
        launcher: Launcher,
        files: Mapping[str, bytes],
        homes: Mapping[str, str],
        refused: Mapping[str, Sequence[str]],
        deadlines: Deadlines | None = None,
        limits: WorkerLimits | None = None,
        keep_output: int = 64 * 1024,
    ) -> None:
        self._launcher = launcher
        self._deadlines = deadlines or Deadlines()
        self._limits = limits or WorkerLimits()
        self._worker: Worker | None = None
        self._accelerator: Accelerator | None = None
        self._spent = 0.0
        self.generation = 0
        self.isolation = str(launcher.level)
        self.output = Output(keep_output)
        self._stage = Stage.put_up(launcher.stages, files)
        self._opening = {
            "folder": str(self._stage.submission),
            "scratch": str(self._stage.scratch),
            "homes": dict(homes),
            "refused": {name: list(calls) for name, calls in refused.items()},
        }

    def request(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        patience: float = 1.0,
        before: Sequence[Step] = (),
    ) -> Any:
        with self._on_the_clock() as left:
            worker = self._worker or self._open()
            seconds = min(patience * self._deadlines.call_seconds, left)
            return self._exchange(worker, [*before, (operation, arguments)], seconds)

    def accelerator(self) -> Accelerator:
        if self._accelerator is None:
            with self._on_the_clock():
                self._open()
        assert self._accelerator is not None
        return self._accelerator

    @contextlib.contextmanager
    def _on_the_clock(self) -> Iterator[float]:
        """Take what is done within it off the submission's time; yields the seconds that are left."""
        left = self._deadlines.submission_seconds - self._spent
        if left <= 0:
            raise Exhausted(
                f"Not run: the {self._deadlines.submission_seconds:g} s for a whole submission were used up."
            )
        started = time.monotonic()
        try:
            yield left
        finally:
            self._spent += time.monotonic() - started

    def close(self) -> None:
        self._drop()
        self._stage.remove()

    def _open(self) -> Worker:
        self._memory_kills = capacity.memory_kills()
        worker = self._worker = self._launcher.start(self._limits, self._stage)
        printed = len(self.output.kept)
        try:
            # asked before a line of the student's has run: nothing of theirs can answer in its place
            self._accelerator = _accelerator(self._exchange(worker, [("open", self._opening)], _OPEN_SECONDS))
        except CandidateError as error:
            self._drop()
            # no line of the student's has run yet, so this is ours
            own_words = self.output.kept[printed:].decode(errors="replace").strip()[-500:]
            why = own_words or error
            raise HostFailed(f"A worker started but did not get ready: {why}") from error
        return worker

    def _exchange(self, worker: Worker, steps: Sequence[Step], seconds: float) -> Any:
        # drawn, not counted: an answer written beforehand cannot be the answer to this
        number = secrets.randbits(63)
        tree, tensors = encode([[operation, dict(arguments)] for operation, arguments in steps])
        request = to_bytes({"id": number, "steps": tree}, tensors)
        deadline = time.monotonic() + seconds
        try:
            wire.send_frame(worker.connection, *request, deadline=deadline)
            frame = wire.receive_frame(worker.connection, deadline, lambda left: self._attend(worker, left))
            return self._answer(frame, number)
        except wire.WireTimeout:
            self._drop()
            raise OutOfTime.after(seconds) from None
        except wire.WireClosed:
            try:
                code = worker.exit_code(2.0)
            finally:
                self._drop()
            if code == -signal.SIGKILL and not worker.breach and capacity.memory_kills() > self._memory_kills:
                raise HostFailed(
                    "The machine ran out of memory, and the system ended a submission that was within its "
                    "limit. Grade fewer at a time (--jobs 1), or end what else runs here."
                ) from None
            raise Died(_obituary(code, explanation_of_end(worker.breach, self._limits))) from None
        except (wire.WireError, MalformedValue, ValueError) as error:
            self._drop()
            raise Nonsense(
                f"The answer that came back was not an answer ({error}). Does the code write to a "
                "descriptor or a socket that it did not open?"
            ) from None

    def _answer(self, frame: tuple[bytes, bytes], number: int) -> Any:
        message, tensors = from_bytes(*frame)
        if message.get("id") != number or type(message.get("id")) is not int:
            raise MalformedValue("it answers another request")
        if "error" in message:
            raise revive(message["error"])
        if "ok" not in message:
            raise MalformedValue("it holds neither a value nor an error")
        return decode(message["ok"], tensors)

    def _attend(self, worker: Worker, left: float | None) -> None:
        """Wait for the worker's answer, reading what it prints meanwhile."""
        poll = select.poll()
        poll.register(worker.connection, select.POLLIN)
        listening = worker.output >= 0
        if listening:
            poll.register(worker.output, select.POLLIN)
        deadline = None if left is None else time.monotonic() + left
        while True:
            timeout = None if deadline is None else (deadline - time.monotonic()) * 1000
            if timeout is not None and timeout <= 0:  # also when there is always more output to read
                raise TimeoutError
            ready = dict(poll.poll(timeout))
            if listening and worker.output in ready:
                data = os.read(worker.output, 65536)
                self.output.add(data)
                if not data:
                    poll.unregister(worker.output)
                    listening = False
            if worker.connection.fileno() in ready:
                return

    def _drop(self) -> None:
        """End the worker and all it started; the next request gets a new one."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        self.generation += 1
        with contextlib.suppress(OSError):
            os.set_blocking(worker.output, False)
            # what it printed last; not for as long as it goes on printing
            for _ in range(_DRAIN_READS):
                if not (data := os.read(worker.output, 65536)):
                    break
                self.output.add(data)
        worker.kill()
        if worker.breach == SCRATCH:
            self._stage.empty_scratch()


_SIGNALS: dict[int, str] = {
    signal.SIGSEGV: "it crashed (segmentation fault). Endless recursion or native code can do that",
    signal.SIGBUS: "it crashed (bus error)",
    signal.SIGABRT: "it was aborted by the library it used",
    signal.SIGKILL: "it was killed, by itself or for using too much memory",
    signal.SIGXCPU: "it used up the processor time a submission has",
    signal.SIGXFSZ: "it wrote a file larger than a submission may",
}


def _accelerator(found: Any) -> Accelerator:
    match found:
        case {"name": str(name), "simulated": bool(simulated)}:
            return Accelerator(name, simulated)
    raise Nonsense("the worker did not say which accelerator it has")


def _obituary(code: int | None, breach: str) -> str:
    if breach:
        how = breach.rstrip(".")
    elif code is None:
        how = "it closed its connection to the grader"
    elif code >= 0:
        how = f"it ended the process itself (exit code {code}). Remove calls such as sys.exit or os._exit"
    else:
        how = _SIGNALS.get(-code, f"it was ended by signal {-code} ({signal.strsignal(-code) or 'unknown'})")
    return f"The code stopped without an answer: {how}{'' if how.endswith('?') else '.'}"


def isolated_candidate(
    launcher: Launcher,
    files: Mapping[str, bytes],
    homes: Mapping[str, str],
    refused: Mapping[str, Sequence[str]] | None = None,
    problems: Mapping[str, str] | None = None,
    **settings: Any,
) -> tuple[Candidate, IsolatedTransport]:
    """The submission's ``files`` as a candidate in a process of its own, and its transport."""
    transport = IsolatedTransport(launcher, files, homes, refused or {}, **settings)
    return Candidate(transport, homes, problems), transport
