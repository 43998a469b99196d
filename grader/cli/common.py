"""What the student's and the instructor's commands share: where the project is, options, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program instead of text.")]
Seed = Annotated[int | None, typer.Option(help="Draw the same numbers as the run that printed this seed.")]


def fail(error: object, code: int = 2) -> typer.Exit:
    """Say on standard error what is wrong; the exit to raise."""
    Console(stderr=True, soft_wrap=True).print(Text(str(error)))
    return typer.Exit(code)
