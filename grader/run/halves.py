"""One submission in two halves at once, where a second processor would be idle meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from grader.assignment import Assignment
from grader.examination.verdicts import InfrastructureFault
from grader.sandbox.worker import die_with_parent
from grader.scoring import SuiteTest


def halves_of(tests: Iterable[SuiteTest], assignment: Assignment) -> tuple[frozenset[str], frozenset[str]]:
    """The exercises in two parts with about as many tests; exercises of one file stay together."""
    weight: dict[str, int] = {}
    for test in tests:
        file = assignment.exercises[test.exercise].file
        weight[file] = weight.get(file, 0) + 1
    parts: tuple[set[str], set[str]] = (set(), set())
    loads = [0, 0]
    for file in sorted(weight, key=lambda file: -weight[file]):
        lighter = loads.index(min(loads))
        loads[lighter] += weight[file]
        parts[lighter].update(e.name for e in assignment.exercises.values() if e.file == file)
    return frozenset(parts[0]), frozenset(parts[1])


def both(first: Callable[[], dict[str, Any]], second: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """Both answers, which must be JSON; the second is worked out in a fork while the first is here.

    Raises what ``first`` raises, and InfrastructureFault when ``second`` fails.
    """
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        _work(second, writable)
    os.close(writable)
    try:
        one = first()
        with os.fdopen(readable, "rb") as stream:
            data = stream.read()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.waitpid(pid, 0)
    other: dict[str, Any] = json.loads(data) if data else {"fault": "The second half ended without a result."}
    if "fault" in other:
        raise InfrastructureFault(other["fault"])
    return [one, other]


def _work(second: Callable[[], dict[str, Any]], writable: int) -> None:
    """In the fork: answer and never return."""
    code = 1
    try:
        die_with_parent()
        try:
            answer = second()
        except BaseException as error:
            answer = {"fault": f"{error}\n\n{traceback.format_exc()}"}
        with os.fdopen(writable, "wb") as stream:
            stream.write(json.dumps(answer).encode())
        code = 0
    finally:
        os._exit(code)
