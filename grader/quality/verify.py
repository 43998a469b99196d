"""Is this assignment fit to publish? One line a check, each with what was seen."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from grader.assignment import Assignment, AssignmentError, load_assignment
from grader.candidate.faults import HostFailed
from grader.examination.suite import HIDDEN, Suite, with_suite
from grader.examination.verdicts import InfrastructureFault
from grader.hints import HintError, load_hints
from grader.quality.check import Check
from grader.quality.judgement import Watch, judge_suites, silently
from grader.release.leaks import find_leaks
from grader.release.markers import MarkerError
from grader.release.stubs import GenerationError, generate, render
from grader.results import Result, Status, TestStatus
from grader.run.engine import LocalEngine
from grader.run.marking import RunContext
from grader.sandbox.launch import launcher
from grader.sandbox.levels import offered
from grader.scoring import ScoringError
from grader.submissions import Submission, read_submissions


@dataclass(frozen=True)
class Verification:
    """The checks of one run."""

    checks: list[Check]
    seed: int

    @property
    def fit(self) -> bool:
        return all(check.holds for check in self.checks)

    def lines(self) -> Iterator[str]:
        """A page for a person: a line a check, and the verdict."""
        width = max(len(check.name) for check in self.checks)
        for check in self.checks:
            yield f"{'ok  ' if check.holds else 'FAIL'}  {check.name.ljust(width)}  {check.seen}"
        failed = sum(not check.holds for check in self.checks)
        yield (
            "fit to publish"
            if not failed
            else f"not fit to publish: {failed} of {len(self.checks)} checks fail"
        )

    def document(self) -> dict[str, Any]:
        """The same for a program."""
        return {"fit": self.fit, "seed": self.seed, "checks": [asdict(check) for check in self.checks]}


def verify(
    root: Path,
    seed: int | None = None,
    *,
    quick: bool = False,
    jobs: int = 1,
    watch: Watch = silently,
) -> Verification:
    """Run every check on the project in ``root``; ``quick`` leaves out the known mistakes and look-alikes.

    ``watch`` is told how many cases there are and called as each one is through.
    """
    seed = secrets.randbelow(2**31) if seed is None else seed
    try:
        assignment = load_assignment(root)
    except AssignmentError as error:
        return Verification([Check("assignment", False, str(error))], seed)
    checks = [
        _guarded("assignment", lambda: f"{len(assignment.core)} core exercises make 100 points"),
        _guarded("exercises are generated", lambda: _generated(root)),
        _guarded("hints", lambda: _hints(root, assignment)),
        _guarded("leaks", lambda: _leaks(root, assignment)),
        *_graded(root, assignment, seed, quick=quick, jobs=jobs, watch=watch),
    ]
    return Verification(checks, seed)


class _Broken(Exception):
    """A check does not hold; the message says what was seen."""


def _guarded(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except (_Broken, GenerationError, MarkerError, HintError) as error:
        return Check(name, False, str(error))


def _generated(root: Path) -> str:
    report = generate(root / "solutions", root / "exercises", check=True)
    if not report.up_to_date:
        raise _Broken("exercises/ is not what solutions/ makes: run `python -m grader generate`")
    return f"{len(report.unchanged)} files are what solutions/ makes"


def _hints(root: Path, assignment: Assignment) -> str:
    counts = [len(load_hints(root / "exercises" / "hints", name)) for name in assignment.exercises]
    return f"{sum(counts)} hints for {len(counts)} exercises"


def _leaks(root: Path, assignment: Assignment) -> str:
    shipped = {f"exercises/{name}": content for name, content in render(root / "solutions").items()}
    for folder in assignment.test_folders:
        for file in sorted((root / folder).rglob("*.py")):
            shipped[file.relative_to(root).as_posix()] = file.read_bytes()
    leaks = find_leaks(shipped, root / "solutions", root / HIDDEN)
    if leaks:
        raise _Broken(f"{len(leaks)}, the first in {leaks[0].path}, line {leaks[0].line}: {leaks[0].detail}")
    return f"0 in the {len(shipped)} files that ship"


def _graded(
    root: Path, assignment: Assignment, seed: int, *, quick: bool, jobs: int, watch: Watch
) -> list[Check]:
    """The suite's points add up; solutions earn them all, stubs none; cases are judged as they should be."""
    solutions = _only(root / "solutions", assignment)
    stubs = _only(root / "exercises", assignment)

    def work(suite: Suite) -> tuple[dict[str, Result], list[Check]]:
        context = RunContext(assignment, suite.tests, suite.digest, seed, str(offered()))
        with closing(launcher(for_bonus=True)) as host, LocalEngine(context, suite, host, jobs=2) as engine:
            results = {result.submission: result for result in engine.grade([solutions, stubs])}
            if engine.faults:
                raise InfrastructureFault("\n".join(engine.faults.values()))
        return results, [] if quick else judge_suites(suite, root, assignment, seed, jobs, watch)

    try:
        results, judged = with_suite(root, work)
    except ScoringError as error:
        return [Check("points add up", False, str(error))]
    except (InfrastructureFault, HostFailed) as error:
        return [Check("suite", False, str(error))]
    tests = len(results[solutions.id].tests)
    return [
        Check("points add up", True, f"{tests} tests make {results[solutions.id].max_score:g} points"),
        _solutions_check(results[solutions.id]),
        _stubs_check(results[stubs.id]),
        *judged,
    ]


def _only(folder: Path, assignment: Assignment) -> Submission:
    return replace(read_submissions(folder, assignment)[0], id=folder.name)


def _solutions_check(result: Result) -> Check:
    lost = [test for test in result.tests if test.score < test.max_score]
    whole = result.status is Status.GRADED and result.score == result.max_score and not lost
    first = f" {result.status_message}".rstrip()
    if lost and result.status is Status.GRADED:
        first = f", the first loss is {lost[0].id}: {lost[0].message}"
    return Check("solutions", whole, f"{result.score:g} of {result.max_score:g}{'' if whole else first}")


def _stubs_check(result: Result) -> Check:
    passed = [test.id for test in result.tests if test.status is TestStatus.PASSED]
    zero = result.status is Status.GRADED and not passed
    seen = f"{result.score:g} of {result.max_score:g}, {len(passed)} of {len(result.tests)} tests pass"
    if result.status is not Status.GRADED:
        seen = f"{result.status}: {result.status_message}"
    return Check("stubs", zero, seen if zero or not passed else f"{seen}: {passed[0]}")
