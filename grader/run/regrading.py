"""A finished run graded again, after its tests, its points or the instructor's decisions changed.

The journal goes on where it is: what was finished before stays above what is finished now.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import Assignment
from grader.errors import UsageError
from grader.examination.suite import Suite, with_suite
from grader.results import Result
from grader.run.engine import LocalEngine
from grader.run.grading import Options, Watcher, context_for, has_bonus, level_for
from grader.sandbox.launch import Launcher, launcher
from grader.sandbox.levels import Level
from grader.store.baseline import Baseline, end
from grader.store.comparison import Comparison, compared
from grader.store.files import note_fault, write_whole
from grader.store.gradebook import Gradebook
from grader.store.journal import NAME as JOURNAL
from grader.store.journal import Journal
from grader.store.overrides import Overrides, read_overrides
from grader.store.run_record import NAME as RUN
from grader.store.run_record import RunRecord
from grader.submissions import IntakeError, Submission, read_submissions
from grader.text import one_line

CHANGES = "changes.json"


@dataclass(frozen=True)
class Again:
    """How to grade again: so many at a time, the submissions from elsewhere, and only some of them.

    What the same suite graded is taken over, unless ``only`` names it.
    """

    jobs: int = 1
    submissions: Path | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Regraded:
    """A regrade that came to its end, and what should be said besides the comparison."""

    comparison: Comparison
    warnings: list[str]


def regrade(
    root: Path,
    out: Path,
    assignment: Assignment,
    again: Again,
    watch: Callable[[int, int], Watcher],
) -> Regraded:
    """Grade again what ``out`` holds, as that run was made, and compare with what it was before.

    A submission that is gone, or that meets a fault of ours, keeps the result it had.

    Raises UsageError, IntakeError, JournalError, HostFailed, InfrastructureFault or NotWritten; what
    was finished by then is in the journal, and the same command goes on from there.
    """
    record = _record(out)
    isolation = level_for(
        Options(
            isolation=Level.named(record.isolation) if record.isolation else None,
            require_isolation=Level.named(record.require_isolation),
        )
    )
    path = again.submissions or _where(record)
    handed_in = read_submissions(path, assignment, record.within)
    with Journal.resume(out) as journal:
        overrides = read_overrides(out, assignment, journal.results)
        wanted = _wanted(journal.results, again.only)
        there = [submission for submission in handed_in if submission.id in wanted]
        if not there:
            raise UsageError(
                f"Nothing was graded: none of the {len(wanted)} submissions is in {path}. "
                "If they have moved, give --submissions and where they are."
            )
        if again.submissions is not None and not again.only:
            record = record.moved(path)
            record.write(out)
        with closing(launcher(isolation, for_bonus=has_bonus(there, assignment))) as host:
            work = _Work(there, out, assignment, overrides, again, record, isolation, journal, host, watch)
            done = with_suite(root, lambda suite: work.grade(suite, gone=_gone(wanted, there)))
        new = [submission.id for submission in handed_in if submission.id not in journal.results]
        warnings = [*journal.warnings, *done.warnings]
        warnings += [_still_stands(id, path) for id in done.comparison.gone]
        if new and record.shard == (1, 1):
            names = ", ".join(map(one_line, new))
            warnings.append(f"Not graded, since there is no result of it yet: {names}. Use `grade --resume`.")
        return Regraded(done.comparison, warnings)


def _still_stands(id: str, path: Path) -> str:
    return f"{one_line(id)} is no longer in {path}, so it was not graded again and the result it had stands."


def _record(out: Path) -> RunRecord:
    record = RunRecord.read(out)
    if record is not None and (out / JOURNAL).exists():
        return record
    missing = RUN if record is None else JOURNAL
    raise UsageError(
        f"Nothing was graded: {out} holds no run to grade again, {missing} is missing. "
        "Give the --out folder of `grade`; if that is what it is, run `grade` with --resume once more."
    )


def _where(record: RunRecord) -> Path:
    """Where the submissions were; as the path was given, should the whole folder have moved."""
    from_root, as_given = Path(record.submissions_from_root), Path(record.submissions)
    if from_root.exists() or as_given.exists():
        return from_root if from_root.exists() else as_given
    raise IntakeError(
        f"Nothing was graded: the submissions are no longer at {from_root}. "
        "Give --submissions and where they are now."
    )


def _wanted(results: Mapping[str, Result], only: Iterable[str]) -> set[str]:
    """The submissions to grade again. Raises UsageError when there are none or one is not known."""
    if not results:
        raise UsageError("Nothing was graded: the journal holds no results yet. Run `grade` with --resume.")
    for id in only:
        if id not in results:
            near = difflib.get_close_matches(id, results, n=3, cutoff=0.5)
            meant = f"Did you mean {' or '.join(map(one_line, near))}?" if near else "scores.csv lists them."
            raise UsageError(f"Nothing was graded: there are no results of --only {id!r}. {meant}")
    return set(only) or set(results)


def _gone(wanted: set[str], there: Sequence[Submission]) -> list[str]:
    return sorted(wanted - {submission.id for submission in there})


@dataclass(frozen=True)
class _Work:
    """The submissions to grade again, and all it takes once the suite is there."""

    submissions: Sequence[Submission]
    out: Path
    assignment: Assignment
    overrides: Overrides
    again: Again
    record: RunRecord
    isolation: Level
    journal: Journal
    host: Launcher
    watch: Callable[[int, int], Watcher]

    def grade(self, suite: Suite, gone: list[str]) -> Regraded:
        unfinished = Baseline.unfinished(self.out, self.journal)
        before = (unfinished or Baseline.begin(self.out, self.journal)).results(self.journal)
        book = Gradebook(self.out, self.assignment, self.journal, self.overrides, suite.tests, suite.digest)
        book.refresh()
        waiting = [one for one in self.submissions if not self._is_done(one, suite, before)]
        context = context_for(self.assignment, suite, self.record, self.isolation)
        with (
            self.watch(len(self.submissions), len(self.submissions) - len(waiting)) as progress,
            LocalEngine(context, suite, self.host, self.again.jobs) as engine,
        ):
            for result in engine.grade(waiting):
                if account := engine.faults.get(result.submission):
                    note_fault(self.out, result.submission, account)
                    progress.advance(result)  # and what it had before still stands
                else:
                    progress.advance(book.enter(result))
        after = {result.submission: result for result in book.close()}
        comparison = compared(
            before,
            after,
            suite=suite.digest,
            seed=self.record.seed,
            graded=len(waiting) - len(engine.faults),
            gone=gone,
            faulty={id: account.splitlines()[0] for id, account in engine.faults.items()},
        )
        write_whole(self.out / CHANGES, comparison.model_dump_json(by_alias=True, indent=2) + "\n")
        if not (engine.faults or (unfinished and self.again.only)):
            end(self.out)
        return Regraded(comparison, engine.warnings)

    def _is_done(self, submission: Submission, suite: Suite, before: Mapping[str, Result]) -> bool:
        """Whether its result is this suite's already; of those asked for by name, since the regrade began."""
        found = self.journal.finished(submission.id, suite=suite.digest, source=submission.source)
        if found is None or submission.id not in self.again.only:
            return found is not None
        earlier = before.get(submission.id)
        return earlier is None or earlier.started_at != found.started_at
