"""The levels of isolation, weakest first, and which of them this machine offers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path

from grader.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


class Level(IntEnum):
    """How a candidate is kept apart; each level adds to the one before."""

    NONE = 0  # in the examiner's own process: a student's own run
    PROCESS = 1  # a process of its own: empty environment, resource limits, killed from outside
    CONFINED = 2  # may read only what it needs, write only its scratch, and has no network
    NAMESPACED = 3  # process, network and mount namespaces of its own

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Level:
        """The level of that name. Raises UsageError, naming those there are."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(str(level) for level in cls)
            raise UsageError(f"There is no isolation level {name!r}; the levels are {known}.") from None


@cache
def offers() -> Mapping[Level, str]:
    """Each level, and why this machine does not offer it (empty: it does).

    The upper two are tried for real, each in a short-lived process, once in the life of this one.
    """
    found = {Level.NONE: "", Level.PROCESS: "" if os.name == "posix" else "it needs a POSIX system"}
    for level in (Level.CONFINED, Level.NAMESPACED):
        found[level] = _why_not(level, found[Level(level - 1)])
    return found


def offered() -> Level:
    """The highest level that this grader can put up on this machine."""
    return max(level for level, why_not in offers().items() if not why_not)


def _why_not(level: Level, below: str) -> str:
    if sys.platform != "linux":
        return "it is made of parts of Linux"
    if below:
        return f"it stands on {Level(level - 1)}, which is not offered"
    from grader.sandbox.probing import try_out

    return try_out(level)


def warm_start_possible() -> bool:
    """Whether workers can be forked from a warm host here; elsewhere each starts cold."""
    return sys.platform == "linux"
