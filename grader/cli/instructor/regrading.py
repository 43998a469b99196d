"""The instructor's command to grade again: parse, call, print; no logic. Not in a student's copy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from grader.cli.common import ROOT, Json, fail


def regrade(
    results: Annotated[Path, typer.Argument(help="The --out folder of an earlier `grade`.")],
    submissions: Annotated[
        Path | None,
        typer.Option(help="Where the submissions are, if they moved.", show_default="as graded"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUBMISSION", help="This one only, whatever changed; may be repeated.", show_default="all"
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many at a time.", show_default="one a processor")] = (
        os.cpu_count() or 1
    ),
    as_json: Json = False,
) -> None:
    """Instructor: grade again after a test, points or overrides.csv changed; who changed, and why.

    As the run was made, with its seed. Overrides: RESULTS/overrides.csv, with the columns
    submission, exercise, points, comment.

    Exit status: 0 done, 1 some submission could not be graded for a fault of ours and keeps the
    result it had, 2 bad usage.
    """
    from grader.assignment import load_assignment
    from grader.reports.instructor.changes import changes_table
    from grader.reports.terminal import Progress
    from grader.run.regrading import CHANGES, Again, regrade
    from grader.store.files import FAULTS
    from grader.text import as_json as as_one_line
    from grader.text import one_line

    try:
        assignment = load_assignment(ROOT)
        again = Again(jobs, submissions, tuple(only or ()))
        done = regrade(ROOT, results, assignment, again, lambda total, done: Progress(total, done=done))
    except KeyboardInterrupt:
        raise fail(
            f"Stopped. What was graded again is in {results}; the same command goes on.", 130
        ) from None
    for warning in done.warnings:
        Console(stderr=True).print(Text(warning))
    comparison = done.comparison
    if as_json:
        typer.echo(as_one_line(comparison.model_dump(mode="json", by_alias=True)))
    else:
        Console(highlight=False).print(changes_table(comparison, assignment))
        typer.echo(f"results in {results}/, drawn with --seed {comparison.seed}; this page as {CHANGES}")
    if comparison.faulty:
        raise fail(
            f"{len(comparison.faulty)} could not be graded again, by a fault of ours, so the earlier result "
            "stands:\n"
            + "".join(f"  {one_line(id)}: {one_line(why, 200)}\n" for id, why in comparison.faulty.items())
            + f"{results / FAULTS} has the whole account; it may quote hidden tests, so keep it from "
            "students.\nMend that, then run the same command again.",
            1,
        )
