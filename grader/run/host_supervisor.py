"""Keeping a host: when it ends in the middle of a class, a fresh one takes its place."""

from __future__ import annotations

from grader.sandbox.launch import Launcher

_FRESH_HOSTS = 3  # one that ends again and again has a reason that a fourth would not cure


class HostSupervisor:
    """Knows which host is at work. ``number`` counts them: 0, and one more with every fresh one."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self.number = 0

    def lost(self, number: int) -> bool:
        """Whether the host of that number is gone and another is there to try with.

        Raises HostFailed when no fresh one starts.
        """
        if number == self.number < _FRESH_HOSTS and self._launcher.revive():
            self.number += 1
        return number != self.number
