"""A run of the grader from a folder of submissions to results on disk."""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Callable, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from grader.assignment import Assignment
from grader.candidate.accelerator import real_accelerator
from grader.errors import UsageError
from grader.examination.suite import Suite, with_suite
from grader.results import Result
from grader.run.engine import LocalEngine
from grader.run.marking import RunContext
from grader.sandbox.capacity import check_room
from grader.sandbox.launch import Launcher, launcher
from grader.sandbox.levels import Level, offered, offers
from grader.store.files import note_fault, set_results_aside
from grader.store.gradebook import Gradebook
from grader.store.journal import Journal
from grader.store.overrides import Overrides, read_overrides
from grader.store.run_record import RunRecord
from grader.submissions import IntakeError, Submission, read_submissions
from grader.text import one_line


@dataclass(frozen=True)
class Options:
    """How to run: how many at a time, from which seed, which part, how isolated (at least, and exactly;
    None: as far as this machine can), and whether device tests must have a real accelerator.

    A seed or ``require_gpu`` of None is that of the run being resumed. ``within`` is the folder in each
    student's folder that was handed in; ``only`` these submissions are graded, all of them if empty."""

    jobs: int = 1
    seed: int | None = None
    resume: bool = False
    shard: tuple[int, int] = (1, 1)
    require_isolation: Level = Level.NONE
    require_gpu: bool | None = None
    isolation: Level | None = None
    within: str | None = None
    only: tuple[str, ...] = ()


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
    """Grade what is at ``path`` into ``out``: run.json, journal, a result for each submission, scores.csv.

    Where something of ours failed, ``out/faults.log`` says what, and no result does.

    ``watch`` makes the watcher from the number of submissions and how many are done already.

    Raises UsageError, IntakeError, JournalError, HostFailed, InfrastructureFault or NotWritten; what
    was finished by then is in the journal.
    """
    _keep_apart(path, out)
    isolation = level_for(options)
    index, count = options.shard
    handed_in = read_submissions(path, assignment, options.within)
    ids = {submission.id for submission in handed_in}
    chosen = _chosen(options.only, ids, path)
    submissions = [submission for submission in handed_in[index - 1 :: count] if submission.id in chosen]
    earlier = RunRecord.read(out) if options.resume else None
    if not options.resume:
        read_overrides(out, assignment, ids)  # to be refused before an old journal is set aside
    with Journal.resume(out) if options.resume else Journal.start(out) as journal:
        if not options.resume:
            set_results_aside(out)
        overrides = read_overrides(out, assignment, ids | set(journal.results))
        record = _record(path, options, earlier, journal)
        if record != earlier:
            record.write(out)
        with closing(launcher(isolation, for_bonus=has_bonus(submissions, assignment))) as host:
            # the host loads its libraries while the suite is collected
            run = _Class(
                submissions, out, assignment, overrides, options.jobs, record, isolation, journal, host, watch
            )
            return with_suite(root, run.grade)


def _record(path: Path, options: Options, earlier: RunRecord | None, journal: Journal) -> RunRecord:
    """How this run is made. Raises UsageError when that differs from what is to be resumed."""
    return RunRecord(
        submissions=str(path),
        submissions_from_root=str(path.absolute()),
        seed=_seed(options, earlier, journal),
        shard=options.shard,
        isolation=None if options.isolation is None else str(options.isolation),
        require_isolation=str(options.require_isolation),
        require_gpu=_require_gpu(options, earlier, journal),
        within=options.within,
    )


def _chosen(only: Sequence[str], ids: Set[str], path: Path) -> Set[str]:
    """The submissions to grade. Raises UsageError when one that was named is not there."""
    for id in only:
        if id not in ids:
            near = difflib.get_close_matches(id, ids, n=3, cutoff=0.5)
            meant = f" Did you mean {' or '.join(map(one_line, near))}?" if near else ""
            raise UsageError(f"Nothing was graded: {path} holds no submission --only {id!r}.{meant}")
    return set(only) or ids


def _seed(options: Options, earlier: RunRecord | None, journal: Journal) -> int:
    """The seed asked for, else that of the run being resumed, else a new one."""
    last = journal.results.last()
    known = earlier.seed if earlier else last.environment.seed if last else None
    if options.seed is None:
        return secrets.randbelow(2**31) if known is None else known
    if last is not None and known != options.seed:
        raise UsageError(
            f"Nothing was graded: {journal.path.parent} was graded with --seed {known}, and results of two "
            f"seeds cannot stand side by side. Leave --seed {options.seed} out to go on, "
            "or give another --out folder."
        )
    return options.seed


def _require_gpu(options: Options, earlier: RunRecord | None, journal: Journal) -> bool:
    known = earlier.require_gpu if earlier else False
    if options.require_gpu is None:
        return known
    if journal.results and known != options.require_gpu:
        raise UsageError(
            f"Nothing was graded: {journal.path.parent} was graded without --require-gpu, so that device "
            "tests could earn points on a simulated accelerator. Leave --require-gpu out to go on, or give "
            "another --out folder."
        )
    return options.require_gpu


def _keep_apart(path: Path, out: Path) -> None:
    """Raises UsageError when the results would lie among the submissions, and be graded next time."""
    if path.resolve() in (out.resolve(), *out.resolve().parents):
        raise UsageError(
            f"Nothing was graded: --out {out} lies within {path}, so that its results would be taken for a "
            "submission. Give an --out folder outside of it."
        )


def level_for(options: Options) -> Level:
    """The level to grade at.

    Raises UsageError when that is not to be had here, or below what is required, and HostFailed when
    there is no room to try it.
    """
    check_room()  # first: a trial that finds none would tell of a lower level
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


def has_bonus(submissions: Sequence[Submission], assignment: Assignment) -> bool:
    """Whether any of them answers a bonus exercise: the host then loads what those need."""
    names = {name for exercise in assignment.bonus for name in exercise.defines}
    return any(names & set(submission.homes) for submission in submissions)


@dataclass(frozen=True)
class _Class:
    """The submissions of a run, and all it takes to grade them once the suite is there."""

    submissions: Sequence[Submission]
    out: Path
    assignment: Assignment
    overrides: Overrides
    jobs: int
    record: RunRecord
    isolation: Level
    journal: Journal
    host: Launcher
    watch: Callable[[int, int], Watcher]

    def grade(self, suite: Suite) -> Run:
        book = Gradebook(self.out, self.assignment, self.journal, self.overrides, suite.tests, suite.digest)
        book.refresh()
        waiting = [submission for submission in self.submissions if not self._is_finished(submission, suite)]
        skipped = len(self.submissions) - len(waiting)
        context = context_for(self.assignment, suite, self.record, self.isolation)
        with (
            self.watch(len(self.submissions), skipped) as progress,
            LocalEngine(context, suite, self.host, self.jobs) as engine,
        ):
            for result in engine.grade(waiting):
                if account := engine.faults.get(result.submission):
                    note_fault(self.out, result.submission, account)
                progress.advance(book.enter(result))
        faults = {id: account.splitlines()[0] for id, account in engine.faults.items()}
        warnings = [*self.journal.warnings, *engine.warnings]
        return Run(book.close(), skipped, self.record.seed, warnings, faults)

    def _is_finished(self, submission: Submission, suite: Suite) -> bool:
        return self.journal.finished(submission.id, suite=suite.digest, source=submission.source) is not None


def context_for(assignment: Assignment, suite: Suite, record: RunRecord, isolation: Level) -> RunContext:
    """What all submissions of the run have in common."""
    device = real_accelerator() or "cpu"
    return RunContext(
        assignment, suite.tests, suite.digest, record.seed, str(isolation), device, record.require_gpu
    )


__all__ = ["IntakeError", "Options", "Run", "UsageError", "grade", "shard_of"]
