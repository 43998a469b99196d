"""One thing that must hold before an assignment is published."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that must hold, whether it does, and what was seen."""

    name: str
    holds: bool
    seen: str
