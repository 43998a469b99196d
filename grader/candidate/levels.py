"""The levels of isolation, weakest first, and which of them this machine offers."""

from __future__ import annotations

import os
import sys
from enum import IntEnum


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
        """The level of that name. Raises ValueError, naming those there are."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(str(level) for level in cls)
            raise ValueError(f"there is no isolation level {name!r}; the levels are {known}") from None


def offered() -> Level:
    """The highest level that this grader can put up on this machine."""
    return Level.PROCESS if os.name == "posix" else Level.NONE


def warm_start_possible() -> bool:
    """Whether workers can be forked from a warm host here; elsewhere each starts cold."""
    return sys.platform == "linux"
