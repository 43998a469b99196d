"""The instructor's commands: parse, call, print; no logic. Not in a student's copy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from grader.cli.common import ROOT, Json, Seed, fail
from grader.cli.instructor.regrading import regrade


def register(app: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (grade, regrade, export, verify, attack, release, generate):
        app.command()(command)


def grade(
    submissions: Annotated[
        Path, typer.Argument(help="One submission (a folder, .py, .ipynb or .zip), or a folder of them.")
    ],
    out: Annotated[Path, typer.Option(help="Where the results go.")],
    jobs: Annotated[int, typer.Option(min=1, help="How many at a time.", show_default="one a processor")] = (
        os.cpu_count() or 1
    ),
    seed: Seed = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an earlier run in OUT stopped.")
    ] = False,
    shard: Annotated[str, typer.Option(help="Grade part I of N of the submissions, as I/N.")] = "1/1",
    only: Annotated[
        list[str] | None, typer.Option(help="Only the submission with this id; may be repeated.")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="What was handed in is the folder of this name in each student's folder."),
    ] = None,
    require_isolation: Annotated[
        str, typer.Option(help="Refuse below this level: none, process, confined, namespaced.")
    ] = "none",
    isolation: Annotated[
        str | None, typer.Option(help="Isolate at this level.", show_default="the highest offered")
    ] = None,
    require_gpu: Annotated[
        bool | None,
        typer.Option("--require-gpu", help="No points for device tests without a real accelerator."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Instructor and CI: grade a class, isolated; results into OUT.

    Exit status: 0 all graded (whatever the scores), 1 some submission could not be graded for a
    fault of ours, 2 bad usage.
    """
    from grader.assignment import load_assignment
    from grader.reports.terminal import Progress, class_table
    from grader.results import Status
    from grader.run.grading import Options, grade, shard_of
    from grader.sandbox.levels import Level
    from grader.store.files import FAULTS
    from grader.text import as_json as to_json
    from grader.text import one_line

    try:
        assignment = load_assignment(ROOT)
        level = Level.named(require_isolation)
        chosen = None if isolation is None else Level.named(isolation)
        options = Options(
            jobs, seed, resume, shard_of(shard), level, require_gpu, chosen, within, tuple(only or ())
        )
        run = grade(
            ROOT, submissions, out, assignment, options, lambda total, done: Progress(total, done=done)
        )
    except KeyboardInterrupt:
        raise fail(f"Stopped. What was finished is in {out}; go on with --resume.", 130) from None
    for warning in run.warnings:
        Console(stderr=True).print(Text(warning))
    if as_json:
        typer.echo(to_json([result.model_dump(mode="json", by_alias=True) for result in run.results]))
    else:
        console = Console(highlight=False)
        console.print(class_table(run.results, assignment))
        kept = f", {run.skipped} of them from before" if run.skipped else ""
        count = f"{len(run.results)} submission{'' if len(run.results) == 1 else 's'}"
        typer.echo(f"\n{count}{kept}; results in {out}/, drawn with --seed {run.seed}")
    faulty = [one_line(r.submission) for r in run.results if r.status is Status.INFRASTRUCTURE_ERROR]
    if faulty:
        raise fail(
            f"{len(faulty)} could not be graded, by a fault of ours: {', '.join(faulty)}.\n"
            + "".join(f"  {one_line(id)}: {one_line(why, 200)}\n" for id, why in run.faults.items())
            + f"{out / FAULTS} has the whole account; it may quote hidden tests, so keep it from students.\n"
            "Mend that, then run the same command with --resume.",
            1,
        )


def verify(
    seed: Seed = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the known mistakes and the look-alikes.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many at a time.", show_default="one a processor")] = (
        os.cpu_count() or 1
    ),
    as_json: Json = False,
) -> None:
    """Instructor: is this assignment fit to publish? Exit status 1 when it is not."""
    from grader.quality.verify import verify
    from grader.reports.terminal import cases_progress

    report = verify(ROOT, seed, quick=quick, jobs=jobs, watch=cases_progress)
    if as_json:
        typer.echo(json.dumps(report.document(), indent=2))
    else:
        for line in report.lines():
            typer.echo(line)
    if not report.fit:
        raise typer.Exit(1)


def attack(
    isolation: Annotated[
        list[str] | None, typer.Option(help="At this level; may be repeated.", show_default="all offered")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only the attack with this id; may be repeated.")
    ] = None,
    seed: Seed = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many of an attack and its neighbours at a time.")] = 2,
    as_json: Json = False,
) -> None:
    """Instructor: does the wall hold? Tries every known attack. Exit status 1 when one succeeds."""
    from functools import partial

    from grader.assignment import load_assignment
    from grader.redteam.runner import run_attacks
    from grader.redteam.table import table
    from grader.reports.terminal import cases_progress
    from grader.sandbox.levels import Level

    levels = [Level.named(name) for name in isolation or ()]
    watch = partial(cases_progress, doing="attacking")
    attack_run = run_attacks(ROOT, load_assignment(ROOT), levels, only or (), seed, jobs, watch)
    if as_json:
        typer.echo(json.dumps(attack_run.document(), indent=2))
    else:
        console = Console(highlight=False)
        for line in table(attack_run):
            console.print(line, soft_wrap=True)
    if attack_run.succeeded:
        raise typer.Exit(1)


def release(
    out: Annotated[Path, typer.Option(help="Where the release goes; for nbgrader the course's folder.")],
    format: Annotated[
        str, typer.Option(help="What to make: bundle (a folder and a zip), or nbgrader (a course).")
    ] = "bundle",
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier release in OUT.")] = False,
) -> None:
    """Instructor: make what students start from. Refused unless `verify` holds."""
    from grader.examination.suite import with_suite
    from grader.quality.verify import verify
    from grader.release.bundle import build_bundle
    from grader.release.nbgrader_course import write_course
    from grader.reports.instructor.nbgrader import course_lines

    if format not in ("bundle", "nbgrader"):
        raise fail(f"There is no release format {format!r} here; there are: bundle, nbgrader.")
    report = verify(ROOT, None, quick=True)
    for line in report.lines():
        typer.echo(line)
    if not report.fit:
        raise fail("Nothing was released: mend what is marked above, then try again.", 1)
    if format == "nbgrader":
        course = with_suite(ROOT, lambda suite: write_course(ROOT, out, suite.tests, force=force))
        lines = course_lines(course)
    else:
        bundle = build_bundle(ROOT, out, force=force)
        lines = [f"Released {len(bundle.files)} files:", f"  {bundle.folder}/", f"  {bundle.archive}"]
    typer.echo("\n" + "\n".join(lines))


def export(
    results: Annotated[Path, typer.Argument(help="The folder with the results of a graded run.")],
    format: Annotated[str, typer.Option(help="Where they go: nbgrader.")],
    course: Annotated[
        Path | None, typer.Option(help="For nbgrader: the course's folder, with nbgrader_config.py in it.")
    ] = None,
    assignment: Annotated[
        str | None,
        typer.Option(help="For nbgrader: one assignment of the course.", show_default="core, and bonus"),
    ] = None,
) -> None:
    """Instructor: enter results where the course keeps its grades."""
    from grader.assignment import load_assignment
    from grader.exports.nbgrader.course import export
    from grader.reports.instructor.nbgrader import entered_lines
    from grader.reports.terminal import cases_progress
    from grader.store.files import read_results

    if format != "nbgrader":
        raise fail(f"There is no export format {format!r} here; there is: nbgrader.")
    if course is None:
        raise fail(
            "Give --course and the folder of the nbgrader course, the one with nbgrader_config.py in it."
        )
    found = read_results(results)
    with cases_progress(len(found), doing="entering") as done:
        entered = export(found, load_assignment(ROOT), course, assignment, done)
    for line in entered_lines(entered, course):
        typer.echo(line)
    if entered.left_out:
        raise typer.Exit(1)


def generate(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail when something differs.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that were edited by hand.")] = False,
) -> None:
    """Instructor: make exercises/ anew from solutions/."""
    from grader.release.stubs import generate

    report = generate(ROOT / "solutions", ROOT / "exercises", force=force, check=check)
    verb = "would be written" if check else "written"
    typer.echo(f"{len(report.written)} files {verb}, {len(report.unchanged)} unchanged.")
    for name in report.written:
        typer.echo(f"  {name}")
    if check and not report.up_to_date:
        raise fail("exercises/ is not what solutions/ makes: run `python -m grader generate`.", 1)
