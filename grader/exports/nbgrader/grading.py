"""Running our grader for nbgrader: as a process of its own, on what was collected, into the course."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from grader.errors import UsageError
from grader.results import Result, Status
from grader.store.files import ResultsError, read_result
from grader.store.journal import NAME as JOURNAL

ROOT = Path(__file__).resolve().parents[3]
RESULTS = Path("headstart") / "results"  # in a course, a folder for each assignment


class NotGraded(UsageError):
    """There is no score, by no fault of the student's; the message says why and what to try."""


def grade(
    submitted: Path,
    assignment: str,
    students: Iterable[str],
    out: Path,
    options: Iterable[str],
    say: Callable[[str], None],
) -> None:
    """Grade what ``students`` handed in for ``assignment``, each in ``submitted/<student>/<assignment>``.

    What was graded before, and is the same, is not graded again. ``say`` is told each line of how it
    gets on. Raises NotGraded when nothing could be graded at all.
    """
    command = [
        *(sys.executable, "-m", "grader", "grade", str(submitted), "--within", assignment),
        *("--out", str(out)),
        *(["--resume"] if (out / JOURNAL).exists() else []),
        *(part for student in students for part in ("--only", student)),
        *options,
    ]
    told: list[str] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            told.append(line.rstrip())
            if line.strip():
                say(line.rstrip())
    if process.returncode == 0 or (process.returncode == 1 and any(map(_IS_FAULT.search, told))):
        return  # of a fault of ours the one result knows that it has
    raise NotGraded("\n".join(told[-20:]) or f"The grader ended with {process.returncode} and no word.")


_IS_FAULT = re.compile(r"could not be graded, by a fault of ours")


def result_of(out: Path, student: str) -> Result:
    """What became of a student's submission. Raises NotGraded when there is no score."""
    try:
        result = read_result(out, student)
    except ResultsError as error:
        raise NotGraded(str(error)) from error
    if result.status is Status.INFRASTRUCTURE_ERROR:
        raise NotGraded(f"{result.status_message} {out / 'faults.log'} has the account of it.")
    return result
