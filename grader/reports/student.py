"""What a student sees of a check: points, the first failure explained, the next step."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from grader.assignment import Assignment
from grader.examination.checking import Checked
from grader.examination.points_table import points_table
from grader.results import TestStatus
from grader.text import visible


def print_check(console: Console, checked: Checked, assignment: Assignment) -> None:
    """Points first, then one thing to mend and how to go on."""
    console.print(points_table(checked.scores, assignment, public_only=True))
    console.print()
    if checked.failure is not None:
        test, outcome = checked.failure
        first, *rest = outcome.message.split("\n")
        console.print(Text(f"First failure, in {test.exercise} ({test.aspect})", style="bold"))
        console.print(Text(visible(first)))
        for line in rest:
            style = "red" if line.startswith("Observed:") else ""
            console.print(Text(visible(line), style), soft_wrap=line.startswith("Your code:"))
        if test.hint and outcome.status is not TestStatus.NOT_RUN:
            console.print(Text(f"Think about: {test.hint}", style="cyan"))
        console.print()
    # commands to copy: a line break of ours would cut them in two
    console.print(Text(f"Next: {checked.next_step}", style="bold"), soft_wrap=True)


def check_document(checked: Checked) -> dict[str, Any]:
    """The same for a program."""
    scores = checked.scores
    return {
        "score": scores.score,
        "max_score": scores.max_score,
        "exercises": [exercise.model_dump(mode="json") for exercise in scores.exercises],
        "tests": [test.model_dump(mode="json") for test in scores.tests],
        "first_failure": checked.failure[0].id if checked.failure else None,
        "next_step": checked.next_step,
        "seed": checked.seed,
    }
