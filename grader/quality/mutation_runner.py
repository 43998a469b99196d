"""Measuring the suites' own judgement: every known mistake must fail and be named, every look-alike pass.

The kill matrix says which test fails for which mistake. Each case runs on a candidate in a fork of
the examiner, in this process: they are our own files.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.candidate.local import local_candidate
from grader.examination.session import ExamSession
from grader.examination.suite import Suite
from grader.examination.verdicts import InfrastructureFault
from grader.quality.cases import LookAlike, Mistake, as_submission
from grader.results import TestStatus
from grader.sandbox.warmth import warm_up
from grader.scoring import Outcome, SuiteTest
from grader.submissions import Submission

NO_NAME = "output-otherwise-wrong"  # expected of a mistake that has no name: better none than a wrong one
_CASE_SECONDS = 120


@dataclass(frozen=True)
class Killed:
    """What became of one mistake: the tests that failed, by seed, and the diagnosis that came first."""

    id: str
    exercise: str
    aspect: str
    expected: str
    named: str
    failed: dict[int, list[str]]
    aspects: list[str]

    @property
    def is_killed(self) -> bool:
        """Some test failed on every seed, and one of the aspect that was named."""
        return all(self.failed.values()) and self.aspect in self.aspects

    @property
    def is_named(self) -> bool:
        return self.named == self.expected or (self.expected == NO_NAME and not self.named)


@dataclass(frozen=True)
class Spared:
    """What became of one look-alike: the tests it lost, with why, over all seeds; any diagnosis it got."""

    id: str
    refused: bool
    lost: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    tests: int = 0

    @property
    def is_right(self) -> bool:
        if self.refused:
            return len(self.lost) == self.tests and any("refused" in reason for reason in self.lost)
        return not self.lost and not self.named


class MutationRunner:
    """Runs cases on the collected suite, ``jobs`` forks at a time."""

    def __init__(self, suite: Suite, assignment: Assignment, seeds: Sequence[int], jobs: int) -> None:
        self._suite = suite
        self._assignment = assignment
        self._seeds = list(seeds)
        self._jobs = jobs
        warm_up()
        with suppress(ImportError):  # once, not in every fork that draws a plot
            os.environ.setdefault("MPLBACKEND", "Agg")
            import_module("matplotlib.pyplot")

    def kill(self, mistakes: Sequence[Mistake], done: Callable[[], None]) -> list[Killed]:
        """All tests of its exercise on the first seed; on the others, until one fails."""
        found = self._each({case.id: partial(self._kill, case) for case in mistakes}, done)
        return [Killed(**{**raw, "failed": {int(s): f for s, f in raw["failed"].items()}}) for raw in found]

    def spare(self, lookalikes: Sequence[LookAlike], done: Callable[[], None]) -> list[Spared]:
        """All tests of their exercises on every seed."""
        found = self._each({case.id: partial(self._spare, case) for case in lookalikes}, done)
        return [Spared(**raw) for raw in found]

    def _kill(self, mistake: Mistake) -> dict[str, Any]:
        submission = as_submission(mistake, self._assignment)
        first, *others = self._seeds
        outcomes = self._sit(submission, first, [mistake.exercise])
        failed = {first: _wrong(outcomes)}
        killers = set(failed[first])
        for seed in others:  # first the tests that failed before: one failure is enough
            again = self._sit(submission, seed, [mistake.exercise], only=killers, stop=True)
            failed[seed] = _wrong(again)
        by_id = {test.id: test for test in self._suite.tests}
        named = next((outcomes[id].diagnosis for id in failed[first] if outcomes[id].diagnosis), None)
        return asdict(
            Killed(
                mistake.id,
                mistake.exercise,
                mistake.aspect,
                mistake.diagnosis,
                self._first_name(mistake.exercise) or named or "",
                failed,
                sorted({by_id[id].aspect for id in failed[first]}),
            )
        )

    def _first_name(self, exercise: str) -> str | None:
        found = self._last.findings.get(exercise, [])
        return found[0].id if found else None

    def _spare(self, case: LookAlike) -> dict[str, Any]:
        lost: list[str] = []
        names: list[str] = []
        tests = 0
        for seed in self._seeds:
            outcomes = self._sit(case.submission, seed, case.exercises)
            tests += sum(outcome.status is not TestStatus.NOT_RUN for outcome in outcomes.values())
            lost += [f"{id}: {outcomes[id].message}" for id in _wrong(outcomes)]
            names += sorted({outcome.diagnosis for outcome in outcomes.values() if outcome.diagnosis})
        return asdict(Spared(case.id, case.refused, lost, [] if case.refused else names, tests))

    def _sit(
        self,
        submission: Submission,
        seed: int,
        exercises: Sequence[str],
        only: set[str] | None = None,
        stop: bool = False,
    ) -> dict[str, Outcome]:
        refused = {name: self._assignment.refused_in(name) for name in submission.homes}
        with tempfile.TemporaryDirectory() as folder:
            for name, content in submission.files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            candidate = local_candidate(Path(folder), submission.homes, refused, submission.problems)
            self._last = ExamSession(candidate, seed, submission.id)

            def chosen(test: SuiteTest) -> bool:
                return test.exercise in exercises and (only is None or test.id in only)

            return self._suite.examine(
                self._last, only=chosen, until=lambda _, outcome: stop and _is_wrong(outcome)
            )

    def _each(self, works: Mapping[str, Callable[[], dict[str, Any]]], done: Callable[[], None]) -> list[Any]:
        """Each case's work in a fork, their answers in order.

        Raises InfrastructureFault, with the case's id, for one that fails or gives no answer.
        """
        answers: dict[str, Any] = {}
        running: dict[int, tuple[str, int]] = {}  # pid -> (case, descriptor)
        queue = iter(works.items())

        def start() -> bool:
            for case, work in queue:
                readable, writable = os.pipe()
                pid = os.fork()
                if pid == 0:
                    _answer(work, writable)
                os.close(writable)
                running[pid] = (case, readable)
                return True
            return False

        while len(running) < self._jobs and start():
            pass
        while running:
            for pid, (case, readable) in list(running.items())[:1]:
                data = b"".join(_chunks(readable))
                os.close(readable)
                os.waitpid(pid, 0)
                del running[pid]
                answer = json.loads(data) if data else {"fault": "it ended without an answer"}
                if "fault" in answer:
                    raise InfrastructureFault(f"The case {case} could not be examined: {answer['fault']}")
                answers[case] = answer
                done()
                start()
        return [answers[case] for case in works]


def _answer(work: Callable[[], dict[str, Any]], writable: int) -> None:
    """In the fork: work, write the answer, never return. What the case prints, or is warned of, is lost."""
    try:
        signal.alarm(_CASE_SECONDS)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            answer = work()
        except BaseException as error:
            answer = {"fault": str(error) or type(error).__name__}
        with os.fdopen(writable, "wb") as stream:
            stream.write(json.dumps(answer).encode())
    finally:
        os._exit(0)


def _chunks(descriptor: int) -> Iterator[bytes]:
    while part := os.read(descriptor, 1 << 20):
        yield part


def _is_wrong(outcome: Outcome) -> bool:
    return outcome.status in (TestStatus.FAILED, TestStatus.ERROR)


def _wrong(outcomes: dict[str, Outcome]) -> list[str]:
    return [id for id, outcome in outcomes.items() if _is_wrong(outcome)]


def write_matrix(folder: Path, tests: Sequence[SuiteTest], killed: Sequence[Killed], seed: int) -> None:
    """The kill matrix as ``kill-matrix.json`` and as a page, ``kill-matrix.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    first = [next(iter(kill.failed.values())) for kill in killed]
    document = {
        "seed": seed,
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "tests": [test.id for test in tests],
        "mistakes": [
            {**asdict(kill), "failed": failed, "killed": kill.is_killed, "named_as_expected": kill.is_named}
            for kill, failed in zip(killed, first, strict=True)
        ],
    }
    (folder / "kill-matrix.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / "kill-matrix.md").write_text(_page(tests, killed, first), encoding="utf-8")


def _page(tests: Sequence[SuiteTest], killed: Sequence[Killed], first: Sequence[list[str]]) -> str:
    lines = [
        "# Kill matrix",
        "",
        "## Tests: how many mistakes each one fails for, and how rare its catch is",
        "",
    ]
    lines += ["| test | mistakes | fewest tests that share one of them |", "|---|---|---|"]
    for test in tests:
        shared = [len(failed) for failed in first if test.id in failed]
        lines.append(f"| `{test.id}` | {len(shared)} | {min(shared) if shared else '-'} |")
    lines += ["", "## Mistakes: what fails for each, and what it is called", ""]
    lines += ["| mistake | tests that fail | aspects | expected | named |", "|---|---|---|---|---|"]
    for kill, failed in zip(killed, first, strict=True):
        mark = "" if kill.is_killed else " **survives**"
        named = kill.named or "(nothing)"
        lines.append(
            f"| {kill.id}{mark} | {len(failed)} | {', '.join(kill.aspects)} | {kill.expected} "
            f"| {named}{'' if kill.is_named else ' **otherwise**'} |"
        )
    return "\n".join(lines) + "\n"
