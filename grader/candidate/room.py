"""Whether the folder for temporary files has room: a full one is a fault of ours, never the student's."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from .faults import HostFailed

_LEAST_MIB = 16


def check_room(folder: Path | None = None) -> None:
    """Raises HostFailed when ``folder``, or that for temporary files, has no room for a submission."""
    advice = "Make room, or name another one in the environment variable TMPDIR"
    try:
        place = folder or tempfile.gettempdir()
        free = shutil.disk_usage(place).free // 2**20
    except OSError as error:  # none of the usual folders takes a file, or it is gone
        raise HostFailed(f"The folder for temporary files cannot be used: {error}. {advice}.") from error
    if free < _LEAST_MIB:
        raise HostFailed(
            f"The folder for temporary files is full: {free} MiB are free in {place}, and a submission needs "
            f"{_LEAST_MIB}. {advice}."
        )
