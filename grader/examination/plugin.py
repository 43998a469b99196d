"""The pytest plugin of the suites: fixtures, failures in words, and the points table at the end.

It serves a student's plain ``pytest`` as well as the examiner, which brings its own session.
"""

from __future__ import annotations

import bdb
import secrets
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import Assignment, load_assignment
from grader.candidate.accelerator import Accelerator
from grader.candidate.faults import CandidateError, Line
from grader.candidate.interface import Candidate
from grader.candidate.local import local_candidate
from grader.examination.collected import by_exercise, exercises_of, sentence, suite_test, weigh
from grader.examination.diagnosing import load_diagnosis, named
from grader.examination.failure_report import Words
from grader.examination.marks import MARK
from grader.examination.session import ExamSession
from grader.examination.verdicts import InfrastructureFault, NotRun, judge
from grader.results import TestStatus
from grader.scoring import Outcome, SuiteTest, score

SESSION = pytest.StashKey[ExamSession]()
OUTCOMES = pytest.StashKey[dict[str, Outcome]]()
_TESTS = pytest.StashKey[list[SuiteTest]]()
_DEVICE = pytest.StashKey[Accelerator]()
_ASSIGNMENT = pytest.StashKey[Assignment]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("headstart")
    group.addoption(
        "--seed", type=int, default=None, help="draw the same numbers as the run that printed this seed"
    )
    group.addoption(
        "--candidate", default="exercises", help="the folder whose code is tested (default: exercises)"
    )
    group.addoption(
        "--require-gpu", action="store_true", help="do not take a simulated accelerator for a missing GPU"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(aspect, weights, hint, visibility): what a suite's test is worth"
    )
    config.addinivalue_line("markers", "gpu: runs on an accelerator, simulated where there is no GPU")
    config.stash[OUTCOMES] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    exercises = exercises_of(metafunc.definition)
    if exercises and "exercise" in metafunc.fixturenames:
        metafunc.parametrize("exercise", exercises)


@pytest.hookimpl(tryfirst=True)  # before -k and the like: a selection must not change what a test is worth
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_TESTS] = []
    if any(exercises_of(item) for item in items):
        assignment = _assignment_of(config)
        config.stash[_TESTS] = weigh(items, assignment)
        by_exercise(items, assignment.exercises)
        load_diagnosis(assignment.diagnosis)  # once, before an examiner forks
    for item in items:
        if suite_test(item) is not None:
            item.repr_failure = partial(_explain, item, item.repr_failure)  # type: ignore[method-assign]


def _assignment_of(config: pytest.Config) -> Assignment:
    """The assignment as it is when it is first asked for: every failed test asks."""
    if _ASSIGNMENT not in config.stash:
        config.stash[_ASSIGNMENT] = load_assignment(config.rootpath)
    return config.stash[_ASSIGNMENT]


def session_of(config: pytest.Config) -> ExamSession:
    """The session in progress; a plain ``pytest`` gets one for the folder ``--candidate``."""
    if SESSION not in config.stash:
        seed = config.getoption("--seed")
        folder = (config.rootpath / config.getoption("--candidate")).resolve()
        candidate = student_candidate(_assignment_of(config), folder)
        config.stash[SESSION] = ExamSession(
            candidate,
            secrets.randbelow(2**31) if seed is None else seed,
            folder.name,
            require_gpu=config.getoption("--require-gpu"),
        )
    return config.stash[SESSION]


def student_candidate(assignment: Assignment, folder: Path, call_seconds: float | None = None) -> Candidate:
    """The code in a student's own folder, run in this process; a call may take ``call_seconds``."""
    homes = assignment.homes
    problems = {
        name: f"{name} was not found: there is no file {home} in {folder.name}/."
        for name, home in homes.items()
        if not (folder / home).is_file()
    }
    refused = {name: assignment.refused_in(name) for name in homes}
    return local_candidate(folder, homes, refused, problems, call_seconds)


@pytest.fixture
def candidate(request: pytest.FixtureRequest) -> Candidate:
    """The code under test, with its random numbers set for this test."""
    session = session_of(request.config)
    session.candidate.begin(session.seed_for(request.node.nodeid))
    return session.candidate


@pytest.fixture
def accelerator(request: pytest.FixtureRequest, candidate: Candidate) -> Accelerator:
    """The accelerator that the test uses; its outcome will say which that was."""
    found = candidate.accelerator()
    if found.simulated and session_of(request.config).require_gpu:
        raise NotRun(
            "Not run: --require-gpu asks for a real accelerator (GPU), and this machine has none. It earns "
            "no points here. Run it on a machine with a GPU, or without --require-gpu on a simulated one."
        )
    request.node.stash[_DEVICE] = found
    return found


@pytest.fixture
def test_seed(request: pytest.FixtureRequest) -> int:
    """The seed that this test's own inputs are drawn from."""
    return session_of(request.config).seed_for(request.node.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Leaving the debugger ends the run: it is no failure of the test it was left in."""
    try:
        return (yield)
    except bdb.BdbQuit:
        pytest.exit("You left the debugger.", returncode=pytest.ExitCode.INTERRUPTED)
    except CandidateError as error:
        if isinstance(error.__cause__, pytest.exit.Exception):
            raise error.__cause__ from None
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if suite_test(item) is not None:
        outcomes = item.config.stash[OUTCOMES]
        if call.excinfo is None and call.when == "call":
            outcomes[item.nodeid] = passed(item, call.duration)
        elif call.excinfo is not None and isinstance(call.excinfo.value, NotRun):
            outcomes[item.nodeid] = judge(call.excinfo.value, sentence(item))
    return report


def _explain(item: pytest.Item, as_usual: Callable[..., Any], excinfo: Any, *args: Any) -> Any:
    """In place of a traceback: the outcome in words, recorded as well.

    pytest asks an item for this whenever a phase of it failed. What is no fault of the candidate's
    keeps pytest's own account and gets no outcome.
    """
    try:
        outcome = failed(item, excinfo.value)
    except InfrastructureFault:
        return as_usual(excinfo, *args)
    test = suite_test(item)
    item.config.stash[OUTCOMES][item.nodeid] = outcome
    if item.config.getoption("tbstyle", "auto") in ("long", "native"):
        return as_usual(excinfo, *args)
    return Words(item.nodeid, outcome, test.hint if test else None)


def failed(item: pytest.Item, error: BaseException) -> Outcome:
    """The outcome of a suite's test that raised ``error``, named if what is wrong has a name.

    Raises InfrastructureFault when it is none of the candidate's.
    """
    outcome = _placed(item, judge(error, _sentence(item), _where(item)))
    test = suite_test(item)
    if test is None:
        return outcome
    diagnose = load_diagnosis(_assignment_of(item.config).diagnosis)
    return named(outcome, error, test, session_of(item.config), diagnose)


def passed(item: pytest.Item, duration_s: float) -> Outcome:
    """The outcome of a suite's test that raised nothing."""
    return _placed(item, Outcome(TestStatus.PASSED, duration_s=duration_s))


def _placed(item: pytest.Item, outcome: Outcome) -> Outcome:
    """The outcome with the device that the test used, if it used another than the CPU."""
    device = item.stash.get(_DEVICE, None)
    return outcome if device is None else replace(outcome, device=str(device))


def _sentence(item: pytest.Item) -> str:
    """The property that a test examines, and where, if that is not the CPU."""
    device = item.stash.get(_DEVICE, None)
    where = "" if device is None else f" (Tried on {device.phrase}.)"
    return f"{sentence(item)}{where}"


def _where(item: pytest.Item) -> Line | None:
    """Where the code that a test is about starts: what it asked last, of what its exercise defines."""
    session = session_of(item.config)
    assignment = _assignment_of(item.config)
    test = suite_test(item)
    if test is None:
        return None
    try:
        defines = assignment.exercises[test.exercise].defines
        asked = session.candidate.asked
        return session.candidate.load(asked if asked in defines else defines[0])
    except (CandidateError, KeyError):
        return None


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    if not config.stash.get(_TESTS, []):
        return []
    session = session_of(config)
    return [f"testing the code in {config.getoption('--candidate')}/, --seed {session.seed}"]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost, so that pytest's list of failures stands above
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> Generator[None, None, None]:
    """The points table at the very end; only when a suite's tests were run."""
    yield
    _print_points(terminalreporter, config)


def _print_points(terminalreporter: Any, config: pytest.Config) -> None:
    from grader.examination.points_table import points_lines

    outcomes = config.stash[OUTCOMES]
    tests = config.stash.get(_TESTS, [])
    tried = {test.exercise for test in tests if test.id in outcomes}
    if not tried:
        return
    assignment = _assignment_of(config)
    scores = score([test for test in tests if test.exercise in tried], outcomes, assignment)
    terminalreporter.section("points")
    for line in points_lines(scores, assignment, public_only=True):
        terminalreporter.write_line(line)
