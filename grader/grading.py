"""A run of the grader from a folder of submissions to results on disk."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from grader.assignment import Assignment
from grader.candidate.accelerator import real_accelerator
from grader.candidate.launch import Launcher, launcher
from grader.candidate.levels import Level, offered, offers
from grader.candidate.room import check_room
from grader.engines.local import LocalEngine
from grader.engines.marking import Paper
from grader.examination.suite import Suite, with_suite
from grader.journal import Journal
from grader.reports.files import note_fault, write_result, write_scores
from grader.results import Result
from grader.submissions import IntakeError, Submission, read_submissions


class UsageError(Exception):
    """What was asked for cannot be done; the message says why and what to try."""


@dataclass(frozen=True)
class Options:
    """How to run: how many at a time, from which seed, which part, how isolated (at least, and exactly;
    None: as far as this machine can), and whether device tests must have a real accelerator."""

    jobs: int = 1
    seed: int | None = None
    resume: bool = False
    shard: tuple[int, int] = (1, 1)
    require_isolation: Level = Level.NONE
    require_gpu: bool = False
    isolation: Level | None = None


class Watcher(Protocol):
    """Is told how the run gets on."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def advance(self, result: Result) -> None:
        """One more submission is through."""


@dataclass(frozen=True)
class Run:
    """A finished run: the results of this class, by id, and what should be said about how it went.

    ``faults`` has one line, for the person who grades, on each submission that met a fault of ours.
    """

    results: list[Result]
    skipped: int
    seed: int
    warnings: list[str]
    faults: dict[str, str]


def shard_of(text: str) -> tuple[int, int]:
    """``I/N`` as numbers, 1 <= I <= N. Raises UsageError otherwise."""
    first, _, last = text.partition("/")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise UsageError(f"--shard takes I/N with I from 1 to N, such as 2/4; it got {text!r}.")
    return int(first), int(last)


def grade(
    root: Path,
    path: Path,
    out: Path,
    assignment: Assignment,
    options: Options,
    watch: Callable[[int, int], Watcher],
) -> Run:
    """Grade what is at ``path`` into ``out``: journal, a result for each submission, scores.csv.

    Where something of ours failed, ``out/faults.log`` says what, and no result does.

    ``watch`` makes the watcher from the number of submissions and how many are done already.

    Raises UsageError, IntakeError, JournalError, HostFailed, InfrastructureFault or NotWritten; what
    was finished by then is in the journal.
    """
    _keep_apart(path, out)
    check_room()  # before the levels are tried: a trial that finds no room would tell of a lower one
    isolation = level_for(options)
    index, count = options.shard
    submissions = read_submissions(path, assignment)[index - 1 :: count]
    with (
        Journal.resume(out) if options.resume else Journal.start(out) as journal,
        closing(launcher(isolation, for_bonus=_has_bonus(submissions, assignment))) as host,
    ):
        # the host loads its libraries while the suite is collected
        run = _Class(submissions, out, assignment, options, isolation, journal, host, watch)
        return with_suite(root, run.grade)


def _keep_apart(path: Path, out: Path) -> None:
    """Raises UsageError when the results would lie among the submissions, and be graded next time."""
    if path.resolve() in (out.resolve(), *out.resolve().parents):
        raise UsageError(
            f"Nothing was graded: --out {out} lies within {path}, so that its results would be taken for a "
            "submission. Give an --out folder outside of it."
        )


def level_for(options: Options) -> Level:
    """The level to grade at. Raises UsageError when that is not to be had here, or below what is required."""
    highest = offered()
    required, chosen = options.require_isolation, options.isolation
    if highest < required:
        raise UsageError(
            f"Nothing was graded: isolation {required} was asked for, and this machine offers {highest} "
            f"({required}: {offers()[required]}). "
            f"Ask for less with --require-isolation {highest}, or grade elsewhere."
        )
    if chosen is None:
        return highest
    if chosen is Level.NONE:
        raise UsageError(
            f"Nothing was graded: a submission is never run in the grader's own process. Ask for "
            f"--isolation {Level.PROCESS} at least."
        )
    if chosen < required:
        raise UsageError(
            f"Nothing was graded: --isolation {chosen} is below --require-isolation {required}. "
            "Leave one of them out."
        )
    if why_not := offers()[chosen]:
        raise UsageError(
            f"Nothing was graded: this machine does not offer --isolation {chosen}: {why_not}. "
            f"Leave the option out for {highest}, the highest it offers."
        )
    return chosen


def _has_bonus(submissions: Sequence[Submission], assignment: Assignment) -> bool:
    names = {name for exercise in assignment.bonus for name in exercise.defines}
    return any(names & set(submission.homes) for submission in submissions)


@dataclass(frozen=True)
class _Class:
    """The submissions of a run, and all it takes to grade them once the suite is there."""

    submissions: Sequence[Submission]
    out: Path
    assignment: Assignment
    options: Options
    isolation: Level
    journal: Journal
    host: Launcher
    watch: Callable[[int, int], Watcher]

    def grade(self, suite: Suite) -> Run:
        done = self._finished(suite)
        seed = _seed(self.options.seed, self.journal)
        device = real_accelerator() or "cpu"
        paper = Paper(
            self.assignment,
            suite.tests,
            suite.digest,
            seed,
            str(self.isolation),
            device,
            self.options.require_gpu,
        )
        waiting = [submission for submission in self.submissions if submission.id not in done]
        with (
            self.watch(len(self.submissions), len(done)) as progress,
            LocalEngine(paper, suite, self.host, self.options.jobs) as engine,
        ):
            for result in engine.grade(waiting):
                if account := engine.faults.get(result.submission):
                    note_fault(self.out, result.submission, account)
                self.journal.append(result)
                write_result(self.out, result)
                progress.advance(result)
        results = [self.journal.results[id] for id in sorted(self.journal.results)]
        write_scores(self.out, results)
        faults = {id: account.splitlines()[0] for id, account in engine.faults.items()}
        return Run(results, len(done), seed, [*self.journal.warnings, *engine.warnings], faults)

    def _finished(self, suite: Suite) -> set[str]:
        """The submissions that need not be graded again; their result files are written anew."""
        done = set()
        for submission in self.submissions:
            found = self.journal.finished(submission.id, suite=suite.digest, source=submission.source)
            if found is not None:
                write_result(self.out, found)  # a kill may have come between journal and file
                done.add(submission.id)
        return done


def _seed(asked: int | None, journal: Journal) -> int:
    """The seed asked for, else that of the run being resumed, else a new one."""
    if asked is not None:
        return asked
    earlier = journal.results.last()
    return secrets.randbelow(2**31) if earlier is None else earlier.environment.seed


__all__ = ["IntakeError", "Options", "Run", "UsageError", "grade", "shard_of"]
