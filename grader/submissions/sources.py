"""Finding the source that knows a path: every module here with an ``entries`` function is one.

A source offers ``entries(path, name, assignment) -> list[Entry] | None`` (None: not mine) and
``ORDER``, a number; the lowest is asked first. Reading another platform's export is one new file.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from grader.assignment import Assignment
from grader.submissions.gathered import Entry


class Source(Protocol):
    """What a module must offer to be a source."""

    ORDER: int

    def entries(self, path: Path, name: str, assignment: Assignment) -> list[Entry] | None: ...


@cache
def sources() -> tuple[Source, ...]:
    """The sources of this package, in the order in which they are asked."""
    package = __name__.rpartition(".")[0]
    folder = str(Path(__file__).parent)
    names = [info.name for info in pkgutil.iter_modules([folder])]
    modules = [import_module(f"{package}.{name}") for name in sorted(names)]
    found = [cast(Source, module) for module in modules if hasattr(module, "entries")]
    return tuple(sorted(found, key=lambda source: source.ORDER))
