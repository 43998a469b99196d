"""The word for what cannot be done as it was asked for."""

from __future__ import annotations


class UsageError(Exception):
    """What was asked for cannot be done; the message says why and what to try."""
