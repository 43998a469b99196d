"""What the grader raises on purpose: messages for the person who runs it, each with an exit status."""

from __future__ import annotations


class HeadstartError(Exception):
    """Something was not done; the message says what, why and what to try; a command then exits so."""

    exit_status = 1


class UsageError(HeadstartError):
    """What was asked for cannot be done as it was asked for."""

    exit_status = 2
