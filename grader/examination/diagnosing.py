"""Giving a failed test's outcome the name of what is probably the matter.

What can be the matter is known to the assignment alone: it names a module that is asked here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from grader.candidate.faults import CandidateError, HostFailed, StudentError
from grader.candidate.interface import Candidate
from grader.examination.session import ExamSession, Finding
from grader.results import TestStatus
from grader.scoring import LOOKS_LIKE, Outcome, SuiteTest

Diagnose = Callable[[str, Candidate, int], Sequence[Finding]]
"""From an exercise, a candidate and a seed to findings, most telling first.

Empty for a right answer, for what has no name, and for an exercise that is not asked about. Raises
CandidateError or AssertionError when the candidate answers in no way that can be read.
"""


@cache
def load_diagnosis(module: str | None) -> Diagnose:
    """The function ``diagnose`` of a module of the assignment's; without one nothing has a name."""
    if module is None:
        return lambda exercise, candidate, seed: ()
    return cast(Diagnose, importlib.import_module(module).diagnose)


def named(
    outcome: Outcome, error: BaseException, test: SuiteTest, session: ExamSession, diagnose: Diagnose
) -> Outcome:
    """The outcome with its diagnosis and the question that goes with it, if there is one.

    Each exercise is asked about once a session, at its first failure. Code that is not written
    yet, or gives no answer at all, is not asked.
    """
    unwritten = isinstance(error, StudentError) and error.kind == "NotImplementedError"
    if outcome.status is not TestStatus.FAILED or unwritten or outcome.diagnosis is not None:
        return outcome
    for finding in _findings(test.exercise, session, diagnose):
        if test.aspect in finding.aspects:
            message = f"{outcome.message}\n{LOOKS_LIKE}{finding.sentence}"
            return replace(outcome, message=message, diagnosis=finding.id, hint=finding.question)
    return outcome


def _findings(exercise: str, session: ExamSession, diagnose: Diagnose) -> Sequence[Finding]:
    if exercise not in session.findings:
        session.findings[exercise] = []
        try:
            found = diagnose(exercise, session.candidate, session.seed_for(f"diagnosis of {exercise}"))
        except HostFailed:
            raise
        except (CandidateError, AssertionError):
            found = []  # it stopped answering while it was asked: better no name than a wrong one
        session.findings[exercise] = found
    return session.findings[exercise]
