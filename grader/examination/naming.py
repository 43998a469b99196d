"""Giving a failed test's outcome the name of what is probably the matter."""

from __future__ import annotations

from dataclasses import replace

from grader.candidate.faults import CandidateError, HostFailed, StudentError
from grader.diagnosis.diagnose import diagnose
from grader.diagnosis.findings import Finding
from grader.examination.sitting import Sitting
from grader.results import TestStatus
from grader.scoring import LOOKS_LIKE, Outcome, SuiteTest


def named(outcome: Outcome, error: BaseException, test: SuiteTest, sitting: Sitting) -> Outcome:
    """The outcome with its diagnosis and the question that goes with it, if there is one.

    Each exercise is interviewed once a sitting, at its first failure. Code that is not written
    yet, or gives no answer at all, is not interviewed.
    """
    unwritten = isinstance(error, StudentError) and error.kind == "NotImplementedError"
    if outcome.status is not TestStatus.FAILED or unwritten or outcome.diagnosis is not None:
        return outcome
    for finding in _findings(test.exercise, sitting):
        if test.aspect in finding.aspects:
            message = f"{outcome.message}\n{LOOKS_LIKE}{finding.sentence}"
            return replace(outcome, message=message, diagnosis=finding.id, hint=finding.question)
    return outcome


def _findings(exercise: str, sitting: Sitting) -> list[Finding]:
    if exercise not in sitting.findings:
        sitting.findings[exercise] = []
        try:
            found = diagnose(exercise, sitting.candidate, sitting.seed_for(f"diagnosis of {exercise}"))
        except HostFailed:
            raise
        except (CandidateError, AssertionError):
            found = []  # it stopped answering while it was asked: better no name than a wrong one
        sitting.findings[exercise] = found
    return sitting.findings[exercise]
