"""This machine: a fork of the warm examiner for each submission, so many at a time."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from grader.candidate.interface import Candidate
from grader.examination.session import ExamSession
from grader.examination.suite import Suite
from grader.examination.verdicts import InfrastructureFault
from grader.results import Result, TestStatus
from grader.run.halves import both, halves_of
from grader.run.host_supervisor import HostSupervisor
from grader.run.marking import RunContext, broken, marked
from grader.sandbox.capacity import check_room
from grader.sandbox.isolated import Deadlines, IsolatedTransport
from grader.sandbox.launch import Launcher
from grader.sandbox.limits import WorkerLimits
from grader.sandbox.stage import sweep
from grader.sandbox.warmth import warm_up
from grader.sandbox.worker import die_with_parent
from grader.scoring import Outcome
from grader.submissions.model import Submission

# how much longer than the submission's own limit an examiner may take before it is taken to hang
_SLACK_SECONDS = 90.0


@dataclass
class _Child:
    """A forked examiner at work on one submission."""

    submission: Submission
    pid: int
    started_at: datetime
    started: float
    deadline: float
    answer: bytearray
    host: int  # which one had its worker


class LocalEngine:
    """Grades submissions on this machine, ``jobs`` at a time. Use as a context manager.

    ``faults`` has, for each submission that could not be graded, one line on what failed and then
    the traceback. That may quote hidden tests, so no result holds it. ``warnings`` says what went
    wrong and was made good.

    Raises HostFailed on entry when no candidate can be started here.
    """

    def __init__(self, context: RunContext, suite: Suite, launcher: Launcher, jobs: int = 1) -> None:
        self._context = context
        self._suite = suite
        self._jobs = max(1, jobs)
        self._launcher = launcher
        self._supervisor = HostSupervisor(launcher)
        self._again: deque[Submission] = deque()  # to be tried once more, each by itself
        self._retried: list[str] = []
        self.faults: dict[str, str] = {}  # by submission, what went wrong on our side: not for students
        self._children: dict[int, _Child] = {}  # by the descriptor their answer arrives on

    def __enter__(self) -> LocalEngine:
        sweep()
        warm_up()
        self._launcher.ready()  # before the first fork, so that none of them has to wait
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children.values():
            _end(child.pid)

    @property
    def warnings(self) -> list[str]:
        if not self._retried:
            return []
        again = ", ".join(map(repr, self._retried))
        return [
            "The host that runs submissions ended before its time. A fresh one was started, and these were "
            f"graded again: {again}. Should that come back, look whether the machine runs out of memory."
        ]

    def grade(self, submissions: Sequence[Submission]) -> Iterator[Result]:
        """Each submission's result, as soon as it is known."""
        waiting = deque(submissions)
        with selectors.DefaultSelector() as selector:
            while waiting or self._again or self._children:
                while (waiting or (self._again and not self._children)) and len(self._children) < self._jobs:
                    submission = (waiting or self._again).popleft()
                    if submission.unreadable is not None:
                        yield marked(self._context, submission, {}, datetime.now(UTC), 0.0)
                        continue
                    # with too few submissions to keep every processor busy, each is done in halves
                    together = min(self._jobs, len(waiting) + len(self._children) + 1)
                    try:
                        descriptor = self._fork(submission, halved=2 * together <= (os.cpu_count() or 1))
                    except OSError as error:  # out of processes, memory or descriptors
                        if self._children:
                            waiting.appendleft(submission)
                            break  # until one of those has ended
                        self.faults[submission.id] = f"No examiner could be started: {error}"
                        yield broken(self._context, submission, datetime.now(UTC), 0.0)
                        continue
                    selector.register(descriptor, selectors.EVENT_READ)
                yield from self._collect(selector)

    def _fork(self, submission: Submission, *, halved: bool) -> int:
        readable, writable = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError:
            os.close(readable)
            os.close(writable)
            raise
        if pid == 0:
            self._child(submission, writable, halved)
        os.close(writable)
        now = time.monotonic()
        allowed = self._context.assignment.limits.submission_seconds + _SLACK_SECONDS
        self._children[readable] = _Child(
            submission, pid, datetime.now(UTC), now, now + allowed, bytearray(), self._supervisor.number
        )
        return readable

    def _child(self, submission: Submission, writable: int, halved: bool) -> None:
        """In the fork: examine, write the answer, never return."""
        code = 1
        try:
            die_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for descriptor in self._children:
                os.close(descriptor)
            try:
                answer = self.examine(submission, halved=halved)
            except BaseException as error:
                answer = {"fault": f"{_headline(error)}\n\n{traceback.format_exc()}"}
            with os.fdopen(writable, "wb") as stream:
                stream.write(json.dumps(answer).encode())
            code = 0
        finally:
            os._exit(code)

    def examine(self, submission: Submission, *, halved: bool = False) -> dict[str, Any]:
        """One submission's outcomes by test, and a note on the whole, as JSON; examined in this process.

        ``halved``: a fork of this process does one half meanwhile, on a worker of its own.
        """
        exercises = frozenset(self._context.assignment.exercises)
        if not halved:
            return self._examine(submission, exercises)
        # what was not handed in takes no time, and so is no part of a fair division
        present = {
            name
            for name, exercise in self._context.assignment.exercises.items()
            if set(exercise.defines) & set(submission.homes)
        }
        weighed = [test for test in self._suite.tests if test.exercise in present]
        other = halves_of(weighed, self._context.assignment)[1]
        one = exercises - other
        parts = both(lambda: self._examine(submission, one), lambda: self._examine(submission, other))
        outcomes = {test: outcome for part in parts for test, outcome in part["outcomes"].items()}
        return {"outcomes": outcomes, "note": " ".join(part["note"] for part in parts if part["note"])}

    def _examine(self, submission: Submission, exercises: frozenset[str]) -> dict[str, Any]:
        limits = self._context.assignment.limits
        refused = {name: self._context.assignment.refused_in(name) for name in self._context.assignment.homes}
        transport = IsolatedTransport(
            self._launcher,
            submission.files,
            submission.homes,
            refused,
            deadlines=Deadlines(limits.call_seconds, limits.submission_seconds),
            limits=WorkerLimits(
                memory_bytes=limits.memory_mib * 1024 * 1024, cpu_seconds=int(limits.submission_seconds) + 30
            ),
            keep_output=limits.output_kib * 1024,
        )
        candidate = Candidate(transport, submission.homes, submission.problems, submission.originals)
        try:
            session = ExamSession(candidate, self._context.seed, submission.id, self._context.require_gpu)
            asked = {name: self._context.assignment.exercises[name].defines for name in exercises}
            absent = {name: why for name, names in asked.items() if (why := candidate.absence(names))}
            present = exercises - set(absent)
            outcomes = self._suite.examine(session, only=lambda test: test.exercise in present)
            outcomes |= {
                test.id: Outcome(TestStatus.NOT_RUN, absent[test.exercise])
                for test in self._suite.tests
                if test.exercise in absent
            }
        finally:
            candidate.close()
        check_room(self._launcher.stages)  # its own scratch is gone: what is full now was not its doing
        note = ""
        if transport.output.flooded:
            note = (
                f"The code printed {transport.output.count:,} bytes; {limits.output_kib} KiB of it were kept."
            )
        return {"outcomes": {test: asdict(outcome) for test, outcome in outcomes.items()}, "note": note}

    def _collect(self, selector: selectors.BaseSelector) -> Iterator[Result]:
        """Wait for some child to get on; the results of those that are through."""
        now = time.monotonic()
        patience = min((child.deadline for child in self._children.values()), default=now) - now
        for key, _ in selector.select(max(0.0, patience)):
            descriptor = key.fd
            child = self._children[descriptor]
            part = os.read(descriptor, 1 << 20)
            child.answer += part
            if not part:
                yield from self._finish(selector, descriptor)
        now = time.monotonic()
        for descriptor, child in list(self._children.items()):
            if now > child.deadline:
                _end(child.pid)
                child.answer[:] = json.dumps({"fault": "The examiner did not finish in time."}).encode()
                yield from self._finish(selector, descriptor)

    def _finish(self, selector: selectors.BaseSelector, descriptor: int) -> Iterator[Result]:
        """Its result; none yet when it is to be tried once more."""
        child = self._children.pop(descriptor)
        selector.unregister(descriptor)
        os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child.pid, 0)
        duration = time.monotonic() - child.started
        try:
            answer = json.loads(child.answer)
        except ValueError:
            answer = {"fault": "The examiner ended before it had a result."}
        if "fault" in answer:
            if child.submission.id not in self._retried and self._supervisor.lost(child.host):
                self._retried.append(child.submission.id)
                self._again.append(child.submission)
                return
            self.faults[child.submission.id] = answer["fault"]
            yield broken(self._context, child.submission, child.started_at, duration)
            return
        outcomes = {
            test: Outcome(**{**fields, "status": TestStatus(fields["status"])})
            for test, fields in answer["outcomes"].items()
        }
        yield marked(self._context, child.submission, outcomes, child.started_at, duration, answer["note"])


def _headline(error: BaseException) -> str:
    """What a table has room for: the traceback's first line would say nothing."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}".removeprefix(f"{InfrastructureFault.__name__}: ")


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
