"""What this machine can do for the grader, as facts."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys

import torch

_DRIVER_OPENS = (
    "workers may read and write the GPU's devices, whose driver is a large part of the kernel; "
    "docs/security.md says what that means"
)


def examine_machine() -> dict[str, str]:
    """Facts about this machine, in the order they are worth reading.

    How submissions can be isolated here is told where they are graded, not in a student's copy.
    """
    device = str(torch.accelerator.current_accelerator()) if torch.accelerator.is_available() else "none"
    facts = {
        "python": f"{platform.python_version()} ({sys.executable})",
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
        "accelerator": device if device != "none" else "none (device tests run on a simulated one)",
    }
    if importlib.util.find_spec("grader.sandbox") is not None:
        facts |= _isolation()
        facts |= {"isolation and the GPU": _DRIVER_OPENS} if device != "none" else {}
    return facts


def _isolation() -> dict[str, str]:
    from grader.sandbox.levels import Level, offers, warm_start_possible

    level = max(level for level, why_not in offers().items() if not why_not)
    missing = [f"{name}: {why_not}" for name, why_not in offers().items() if why_not]
    warm = "warm, forked from one host" if warm_start_possible() else "cold, one process each"
    return {
        "isolation level": f"{level} (of {', '.join(map(str, Level))})",
        "levels not offered": "; ".join(missing) or "none: this machine offers them all",
        "start of workers": warm,
    }
