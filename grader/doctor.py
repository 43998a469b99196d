"""What this machine can do for the grader, as facts."""

from __future__ import annotations

import os
import platform
import sys

import torch

from grader.candidate.levels import Level, offers, warm_start_possible

_DRIVER_OPENS = (
    "workers may read and write the GPU's devices, whose driver is a large part of the kernel; "
    "docs/security.md says what that means"
)


def examine_machine() -> dict[str, str]:
    """Facts about this machine, in the order they are worth reading."""
    level = max(level for level, why_not in offers().items() if not why_not)
    missing = [f"{name}: {why_not}" for name, why_not in offers().items() if why_not]
    device = str(torch.accelerator.current_accelerator()) if torch.accelerator.is_available() else "none"
    return {
        "python": f"{platform.python_version()} ({sys.executable})",
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
        "accelerator": device if device != "none" else "none (device tests run on a simulated one)",
        "isolation level": f"{level} (of {', '.join(map(str, Level))})",
        "levels not offered": "; ".join(missing) or "none: this machine offers them all",
        **({"isolation and the GPU": _DRIVER_OPENS} if device != "none" else {}),
        "start of workers": "warm, forked from one host"
        if warm_start_possible()
        else "cold, one process each",
    }
