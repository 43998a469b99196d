"""One submission's results from its outcomes: what every engine ends with."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import torch

from grader.assignment import Assignment
from grader.results import Environment, Result, Status, TestStatus
from grader.scoring import Outcome, SuiteTest, score
from grader.submissions.model import Submission

NOT_GRADED = (
    "This submission could not be graded. The fault is the grader's, not the student's, and costs no points; "
    "it will be tried again."
)


@dataclass(frozen=True)
class RunContext:
    """What all submissions of a run have in common."""

    assignment: Assignment
    tests: list[SuiteTest]
    digest: str
    seed: int
    isolation: str
    device: str = "cpu"
    require_gpu: bool = False


def marked(
    context: RunContext,
    submission: Submission,
    outcomes: Mapping[str, Outcome],
    started_at: datetime,
    duration_s: float,
    note: str = "",
) -> Result:
    """The result of a submission that was examined, or that could not be read (*rejected*)."""
    status, message = Status.GRADED, _summary(submission, note)
    if submission.unreadable is not None:
        status, message = Status.REJECTED, submission.unreadable
        outcomes = {test.id: Outcome(TestStatus.NOT_RUN, submission.unreadable) for test in context.tests}
    return _result(context, submission, status, message, outcomes, started_at, duration_s)


def broken(context: RunContext, submission: Submission, started_at: datetime, duration_s: float) -> Result:
    """The result of a submission that could not be graded for a fault of ours.

    What failed is not in it: an account of a fault may quote hidden tests, and students read results.
    """
    outcomes = dict.fromkeys((test.id for test in context.tests), Outcome(TestStatus.NOT_RUN, NOT_GRADED))
    return _result(
        context, submission, Status.INFRASTRUCTURE_ERROR, NOT_GRADED, outcomes, started_at, duration_s
    )


def _result(
    context: RunContext,
    submission: Submission,
    status: Status,
    message: str,
    outcomes: Mapping[str, Outcome],
    started_at: datetime,
    duration_s: float,
) -> Result:
    scores = score(context.tests, outcomes, context.assignment)
    return Result(
        submission=submission.id,
        assignment=context.assignment.name,
        status=status,
        status_message=message,
        score=scores.score,
        max_score=scores.max_score,
        bonus_score=scores.bonus_score,
        exercises=scores.exercises,
        aspects=scores.aspects,
        tests=scores.tests,
        environment=Environment(
            python=platform.python_version(),
            torch=torch.__version__,
            isolation=context.isolation,
            device=context.device,
            seed=context.seed,
        ),
        suite=context.digest,
        source=submission.source,
        started_at=started_at,
        duration_s=round(duration_s, 3),
    )


def _summary(submission: Submission, note: str) -> str:
    """What the student should know about the whole: what could not be examined, what was noticed."""
    return " ".join([*dict.fromkeys(submission.problems.values()), note]).strip()
