"""The suite, collected once; then put to one candidate after another, each in a fork of this process."""

from __future__ import annotations

import bdb
import contextlib
import hashlib
import io
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from _pytest.runner import runtestprotocol

from grader.assignment import load_assignment
from grader.examination.collected import suite_test
from grader.examination.direct import directly
from grader.examination.plugin import OUTCOMES, SESSION, failed, passed
from grader.examination.session import ExamSession
from grader.examination.verdicts import REFUSED, InfrastructureFault
from grader.scoring import Outcome, SuiteTest, check_points

_INI = Path(__file__).with_name("suite.ini")
T = TypeVar("T")
PUBLIC, HIDDEN = "tests/public", "tests/hidden"


class Suite:
    """The collected tests, and how to run them on a candidate."""

    def __init__(self, session: pytest.Session, tests: list[SuiteTest], digest: str) -> None:
        self._session = session
        for item in session.items:  # once for all the forks that will need it
            directly(item)
        self.tests = tests
        self.digest = digest

    def sample(self, exercise: str, every: int = 1) -> Suite:
        """One case of every so many tests of an exercise, worth also what is left out after it."""
        names: list[str] = []
        chosen: dict[int, SuiteTest] = {}
        for test in self.tests:
            if test.exercise == exercise:
                name = test.id.partition("[")[0]
                names += [name] if name not in names else []
                group = names.index(name) // every
                first = chosen.get(group)
                chosen[group] = replace(first, points=first.points + test.points) if first else test
        return Suite(self._session, list(chosen.values()), self.digest)

    def examine(
        self,
        session: ExamSession,
        *,
        only: Callable[[SuiteTest], bool] = lambda test: True,
        until: Callable[[SuiteTest, Outcome], bool] = lambda test, outcome: False,
    ) -> dict[str, Outcome]:
        """Run the tests that ``only`` picks on one candidate, and stop when ``until`` says so.

        Raises InfrastructureFault when a test fails for a fault of ours.
        """
        config = self._session.config
        config.stash[SESSION] = session
        outcomes = config.stash[OUTCOMES] = {}
        ours = {test.id for test in self.tests if only(test)}
        items = [item for item in self._session.items if item.nodeid in ours]
        for item in items:
            started = time.perf_counter()
            run = directly(item)
            outcome = self._by_pytest(item) if run is None else _outcome(item, run)
            outcome = outcomes[item.nodeid] = outcome.lasting(time.perf_counter() - started)
            if until(cast(SuiteTest, suite_test(item)), outcome):
                break
        return _without_refused(self.tests, outcomes)

    def _by_pytest(self, item: pytest.Item) -> Outcome:
        """A test with fixtures that only pytest itself can set up."""
        reports = runtestprotocol(item, log=False, nextitem=None)
        outcome = self._session.config.stash[OUTCOMES].get(item.nodeid)
        broken = next((report for report in reports if report.failed), None)
        if outcome is None or (broken is not None and outcome.is_passed):
            raise InfrastructureFault(_account(item, broken))
        return outcome


def _outcome(item: pytest.Item, run: Callable[[], None]) -> Outcome:
    started = time.perf_counter()
    try:
        run()
    except (KeyboardInterrupt, bdb.BdbQuit):
        raise
    except BaseException as error:
        try:
            return failed(item, error)
        except InfrastructureFault as fault:
            account = "".join(traceback.format_exception(error))
            raise InfrastructureFault(f"{item.nodeid} could not be run: {fault}\n{account}") from error
    return passed(item, time.perf_counter() - started)


def _account(item: pytest.Item, broken: pytest.TestReport | None) -> str:
    """What became of a test that failed for a fault of ours: one line, then pytest's own account."""
    crash = getattr(broken.longrepr, "reprcrash", None) if broken else None
    reason = crash.message.splitlines()[0] if crash and crash.message else "it ended without an outcome"
    return f"{item.nodeid} could not be run: {reason}\n{broken.longreprtext if broken else ''}"


def _without_refused(tests: list[SuiteTest], outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
    """What an exercise answered by refused means earns nothing, also where they did not come into play."""
    refused = {test.exercise: outcomes[test.id] for test in tests if _is_refused(outcomes.get(test.id))}
    return {
        test.id: refused[test.exercise] if test.exercise in refused and outcome.is_passed else outcome
        for test in tests
        if (outcome := outcomes.get(test.id))
    }


def _is_refused(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.diagnosis == REFUSED


def with_suite(root: Path, work: Callable[[Suite], T], folders: Sequence[str] = (PUBLIC, HIDDEN)) -> T:
    """Collect the suites of the assignment in ``root``, check their points, and do ``work``.

    Raises InfrastructureFault when the suite cannot be collected, ScoringError when its points
    do not add up, and whatever ``work`` raises.
    """
    present = [folder for folder in folders if (root / folder).is_dir()]
    runner = _Runner(root, work, public_only=HIDDEN not in present)
    arguments = [
        *(str(root / folder) for folder in present),
        *("-c", str(_INI), f"--rootdir={root}", f"--confcutdir={root}"),
        *(f"-p no:{name}" for name in _UNUSED),
    ]
    # what collection prints (tracebacks through the tests) is for our own errors only
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = pytest.main(arguments, plugins=[runner])
    if runner.error is not None:
        raise runner.error
    if not runner.done:
        problems = "\n".join(runner.problems) or printed.getvalue()
        raise InfrastructureFault(
            f"The suite could not be collected (pytest ended with {int(code)}):\n{problems}"
        )
    return cast(T, runner.value)


# pytest's own plugins that an examiner has no use for; they cost time on every test
_UNUSED = (
    "cacheprovider",
    "capture",
    "debugging",  # breakpoint() then opens Python's own debugger
    "doctest",
    "faulthandler",
    "hypothesispytest",
    "junitxml",
    "logging",
    "nose",
    "pastebin",
    "recwarn",
    "stepwise",
    "terminal",
    "threadexception",
    "timeout",
    "unittest",
    "unraisableexception",
    "warnings",
)


class _Runner:
    """In place of pytest's own loop over the tests: do the work, once collection is through."""

    def __init__(self, root: Path, work: Callable[[Suite], Any], *, public_only: bool) -> None:
        self._root = root
        self._work = work
        self._public_only = public_only
        self._stdout = sys.stdout
        self.problems: list[str] = []
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(report.longreprtext)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.problems:
            return True
        try:
            assignment = load_assignment(self._root)
            tests = [test for item in session.items if (test := suite_test(item))]
            check_points(tests, assignment, public_only=self._public_only)
            with contextlib.redirect_stdout(self._stdout):
                self.value = self._work(Suite(session, tests, suite_digest(self._root)))
            self.done = True
        except BaseException as error:
            self.error = error
        return True


def suite_digest(root: Path) -> str:
    """A hash of what decides a score besides the submission: the tests and the assignment."""
    digest = hashlib.sha256()
    files = [root / "assignment.toml", *sorted((root / "tests").glob("conftest.py"))]
    for folder in (HIDDEN, *load_assignment(root).test_folders):
        files += sorted((root / folder).rglob("*.py"))
    for file in files:
        content = file.read_bytes()
        name = file.relative_to(root).as_posix().encode()
        digest.update(len(name).to_bytes(8, "big") + name + len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()
