"""Made-up results, and how they look on a screen and in scores.csv."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Literal

from rich.console import Console, RenderableType

from grader.assignment import load_assignment
from grader.results import Environment, Result, Status, TestStatus, Visibility
from grader.scoring import Outcome, Scores, SuiteTest, score
from grader.store.files import (
    write_scores,
)

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = load_assignment(ROOT)
SUITE = [
    SuiteTest(f"{exercise.name}-{visibility}", exercise.name, "parity", Fraction(points), visibility)
    for exercise in ASSIGNMENT.core
    for visibility, points in [
        (Visibility.VISIBLE, exercise.public_points),
        (Visibility.HIDDEN, exercise.points - exercise.public_points),
    ]
]
PASSED = {test.id: Outcome(TestStatus.PASSED) for test in SUITE}
HOSTILE = "eve[bold red]\x1b[2J\x1b]0;title\x07\r\n[ 9/9] eve  100 / 100\u202e\u2066"


def scored(failed: dict[str, str] | None = None) -> Scores:
    """All passed, but for the tests in ``failed``, which say why."""
    wrong = {id: Outcome(TestStatus.FAILED, message) for id, message in (failed or {}).items()}
    return score(SUITE, PASSED | wrong, ASSIGNMENT)


def result(
    submission: str = "ann",
    failed: dict[str, str] | None = None,
    *,
    status: Status = Status.GRADED,
    message: str = "",
    bonus: float = 0.0,
) -> Result:
    scores = scored(failed)
    return Result(
        submission=submission,
        assignment="attention",
        status=status,
        status_message=message,
        score=scores.score,
        max_score=scores.max_score,
        bonus_score=bonus,
        exercises=scores.exercises,
        aspects=scores.aspects,
        tests=scores.tests,
        environment=Environment(python="3.11", torch="2.13", isolation="process", device="cpu", seed=1),
        suite="suite",
        source="source",
        started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        duration_s=0.25,
    )


def shown(renderable: RenderableType, *, width: int = 80, terminal: bool = False) -> str:
    colours: Literal["standard"] | None = "standard" if terminal else None
    screen = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=colours)
    screen.print(renderable)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def rows(out: Path, *results: Result) -> list[dict[str, str]]:
    with write_scores(out, results).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
