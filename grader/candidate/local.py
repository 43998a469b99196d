"""A candidate in this very process: a student's own run, where print and breakpoint() work."""

from __future__ import annotations

import bdb
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .accelerator import Accelerator
from .faults import HostFailed, describe, revive
from .interface import Candidate, Step
from .values import plain
from .workbench import Workbench


class LocalTransport:
    """Performs operations directly; the student's exception stays the cause of what is raised."""

    generation = 0
    isolation = "none"

    def __init__(self, folder: Path, homes: Mapping[str, str], refused: Mapping[str, Sequence[str]]) -> None:
        self._workbench = Workbench(folder, homes, refused)
        self._folder = folder

    def request(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        patience: float = 1.0,
        before: Sequence[Step] = (),
    ) -> Any:
        try:
            for earlier, its_arguments in before:
                self._workbench.perform(earlier, plain(dict(its_arguments)))
            return self._workbench.perform(operation, plain(dict(arguments)))
        except (KeyboardInterrupt, bdb.BdbQuit, HostFailed):
            raise
        except BaseException as error:
            raise revive(describe(error, self._folder)) from error

    def accelerator(self) -> Accelerator:
        return self._workbench.accelerator

    def close(self) -> None:
        """There is no worker to end."""


def local_candidate(
    folder: Path,
    homes: Mapping[str, str],
    refused: Mapping[str, Sequence[str]] | None = None,
    problems: Mapping[str, str] | None = None,
) -> Candidate:
    """The code in ``folder`` as a candidate that runs here and is trusted as its author is."""
    return Candidate(LocalTransport(folder, homes, refused or {}), homes, problems)
