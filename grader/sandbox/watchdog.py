"""What the host watches from outside while a worker runs: memory, processes, scratch.

The kernel's own limits hold each process by itself, and not at all what a GPU's driver maps; these
hold a worker together with all it started.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from grader.sandbox.limits import MEMORY, PROCESSES, SCRATCH, WorkerLimits

TICK_SECONDS = 0.05
_TICKS_PER_WALK = 5
_DEPTH = 32
_BLOCK = 512  # what st_blocks counts


@dataclass
class Watch:
    """Over one worker. ``has_family``: it can start processes, so look for them."""

    pid: int
    limits: WorkerLimits
    scratch: Path
    has_family: bool
    _at_fork: int = field(default_factory=lambda: resident(os.getpid())[0])
    _ticks: int = 0

    def breach(self) -> str:
        """Which limit is exceeded now; empty when none is."""
        family = [self.pid, *descendants(self.pid)] if self.has_family else [self.pid]
        seen = [resident(pid) for pid in family]
        if sum(threads for _, threads in seen) > self.limits.processes:
            return PROCESSES
        own = sum(max(0, size - self._at_fork) for size, _ in seen)
        if own > self.limits.memory_bytes and (len(family) == 1 or self._exactly(family)):
            return MEMORY
        self._ticks += 1
        if self._ticks % _TICKS_PER_WALK == 0 and is_full(self.scratch, self.limits):
            return SCRATCH
        return ""

    def _exactly(self, family: list[int]) -> bool:
        """Whether memory is exceeded when what several processes share is counted once."""
        return sum(map(_share, family)) > self.limits.memory_bytes


def resident(pid: int) -> tuple[int, int]:
    """Bytes of memory that a process holds itself (files aside), and its threads; (0, 0) when gone."""
    size = threads = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            if line.startswith((b"RssAnon:", b"RssShmem:")):
                size += int(line.split()[1]) * 1024
            elif line.startswith(b"Threads:"):
                threads = int(line.split()[1])
    return size, threads


def _share(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss_Anon:"):
                return int(line.split()[1]) * 1024
    return 0


def children(pid: int) -> list[int]:
    """The processes that a process, by any of its threads, has started and that are still its own."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += map(int, text.split())
    return found


def descendants(pid: int) -> list[int]:
    """The children, their children, and so on."""
    found: list[int] = []
    waiting = children(pid)
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


def is_full(scratch: Path, limits: WorkerLimits) -> bool:
    """Whether more lies in the folder than may; also when it is nested too deeply to look into."""
    size = entries = 0
    waiting = [(str(scratch), 0)]
    while waiting:
        folder, depth = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as listing:
            for entry in listing:
                entries += 1
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                if size > limits.scratch_bytes or entries > limits.scratch_entries or depth > _DEPTH:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth + 1))
    return False
