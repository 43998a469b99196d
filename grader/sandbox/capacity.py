"""Whether the machine has room, for files and in memory: when not, that is never the student's fault."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from grader.candidate.faults import HostFailed

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


def memory_kills() -> int:
    """How many processes the kernel has ended for want of memory; 0 where it does not count them."""
    try:
        counts = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in counts if line.startswith("oom_kill ")), 0)
