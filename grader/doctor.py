"""What this machine can do for the grader, as facts."""

from __future__ import annotations

import os
import platform
import sys

import torch

from grader.candidate.levels import Level, offered, warm_start_possible


def examine_machine() -> dict[str, str]:
    """Facts about this machine, in the order they are worth reading."""
    level = offered()
    device = str(torch.accelerator.current_accelerator()) if torch.accelerator.is_available() else "none"
    return {
        "python": f"{platform.python_version()} ({sys.executable})",
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
        "accelerator": device if device != "none" else "none (device tests are reported as not run)",
        "isolation level": f"{level} (of {', '.join(map(str, Level))})",
        "start of workers": "warm, forked from one host"
        if warm_start_possible()
        else "cold, one process each",
    }
