"""The commands: parse, call, print; no logic. Nothing heavy is loaded before a command needs it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import traceback
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.common import ROOT, Json, Seed, fail
from grader.errors import HeadstartError
from grader.text import one_line

app = typer.Typer(
    help="Headstart: learn attention by building it, one test at a time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def check(
    exercise: Annotated[str | None, typer.Argument(help="One exercise; all of them unless said.")] = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Student: the public tests, your points, the first failure explained, what to do next."""
    import bdb

    import pytest

    from grader.assignment import load_assignment
    from grader.examination.checking import check
    from grader.examination.verdicts import InfrastructureFault
    from grader.reports.student import check_document, print_check
    from grader.scoring import ScoringError

    try:
        assignment = load_assignment(ROOT)
        # what the student's code prints must not mix with the JSON
        with contextlib.redirect_stdout(sys.stderr if as_json else sys.stdout):
            checked = check(ROOT, ROOT / "exercises", assignment, exercise, seed)
    except (InfrastructureFault, ScoringError) as error:
        raise fail(f"{error}\nThis is not your code's fault: tell your instructor.", 1) from error
    except (KeyboardInterrupt, bdb.BdbQuit, pytest.exit.Exception):
        raise fail("Stopped before the end, so there are no points to show.", 130) from None
    if as_json:
        typer.echo(json.dumps(check_document(checked), indent=2))
    else:
        print_check(Console(highlight=False), checked, assignment)


@app.command()
def hint(
    exercise: Annotated[str, typer.Argument(help="Which exercise, such as self_attention.")],
    again: Annotated[bool, typer.Option("--from-the-start", help="Begin with the first hint again.")] = False,
) -> None:
    """Student: one more hint each time, from a gentle question to a clear direction."""
    from grader.hints import HintState

    state = HintState(ROOT)
    if again:
        state.reset(exercise)
    found = state.next_hint(exercise)
    typer.echo(f"Hint {found.number} of {found.total} for {exercise}\n\n{found.text}")


@app.command()
def doctor(as_json: Json = False) -> None:
    """What this machine can do: torch, devices, isolation level."""
    from grader.doctor import examine_machine

    facts = examine_machine()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    width = max(map(len, facts))
    for name, fact in facts.items():
        typer.echo(f"{name.ljust(width)}  {fact}")


# a student's copy has no instructor's part
if importlib.util.find_spec("grader.cli.instructor") is not None:
    from grader.cli.instructor.commands import register

    register(app)


def main() -> None:
    """Run the command line: the one place where an error becomes words and an exit status.

    What was raised on purpose says what to try. Anything else is a bug of ours: one sentence, exit
    status 1, and the traceback in a file.
    """
    from grader.candidate.faults import HostFailed

    try:
        app()
    except HeadstartError as error:
        raise SystemExit(fail(error, error.exit_status).exit_code) from error
    except HostFailed as error:
        raise SystemExit(fail(error, 1).exit_code) from error
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("grader", *sys.stdlib_module_names):
            raise SystemExit(_bug(error)) from error
        told = fail(
            f"The Python package {error.name} is missing from {sys.prefix}, so this could not be done. "
            f"Install what is listed: {sys.executable} -m pip install -r requirements.txt",
            1,
        )
        raise SystemExit(told.exit_code) from error
    except Exception as error:
        raise SystemExit(_bug(error)) from error


def _bug(error: Exception) -> int:
    """Say that something of ours went wrong, and where the account of it is."""
    account = "".join(traceback.format_exception(error))
    try:
        descriptor, path = tempfile.mkstemp(prefix="headstart-", suffix=".log")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(account)
    except OSError:
        path = ""
        sys.stderr.write(account)
    where = f" The whole account is in {path}; it may quote hidden tests." if path else ""
    reason = one_line(f"{type(error).__name__}: {error}", 200)
    return fail(
        f"Headstart itself failed, which is not your doing ({reason}).{where} Please report it.", 1
    ).exit_code
