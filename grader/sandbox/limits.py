"""What a worker may use, how the kernel is told, and the student's sentence for each breach."""

from __future__ import annotations

import contextlib
import errno
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.candidate.accelerator import real_accelerator

MIB = 1024 * 1024
_errno_of: Any = OSError.__dict__["errno"].__get__  # past a subclass, which may claim another
_GRACE_SECONDS = 5  # between the signal that says the processor time is used up, and the end


@dataclass(frozen=True)
class WorkerLimits:
    """Bytes of memory beyond the interpreter's own, CPU seconds, bytes a file, open files, processes
    and threads together, and bytes and entries in the scratch folder."""

    memory_bytes: int = 2048 * MIB
    cpu_seconds: int = 150
    file_bytes: int = 64 * MIB
    open_files: int = 128
    processes: int = 128
    scratch_bytes: int = 256 * MIB
    scratch_entries: int = 10_000


def limit(limits: WorkerLimits, *, own_user: bool) -> None:
    """Set what the kernel will hold this process to. Does nothing where there are no such limits.

    ``own_user``: it will be a user of its own, so the processes counted are its own.
    """
    try:
        import resource
    except ImportError:
        return
    wanted = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_CPU: (limits.cpu_seconds, limits.cpu_seconds + _GRACE_SECONDS),
        resource.RLIMIT_FSIZE: (limits.file_bytes,) * 2,
        resource.RLIMIT_NOFILE: (limits.open_files,) * 2,
    }
    if sys.platform == "linux":
        others = 0 if own_user else _running()
        wanted[resource.RLIMIT_NPROC] = (others + limits.processes,) * 2
        wanted[resource.RLIMIT_MEMLOCK] = (MIB, MIB)
    # a GPU's driver maps far more memory than it uses: there, only the host's watch limits memory
    if sys.platform == "linux" and real_accelerator() is None:
        # RLIMIT_AS counts mapped libraries too: allow what is mapped already, and then the limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted[resource.RLIMIT_AS] = (pages * resource.getpagesize() + limits.memory_bytes,) * 2
    for kind, pair in wanted.items():
        highest = resource.getrlimit(kind)[1]
        soft, hard = (v if highest == resource.RLIM_INFINITY else min(v, highest) for v in pair)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (soft, hard))


def _running() -> int:
    """How many processes and threads the machine runs now: no user has more of them."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    return 4096


# breaches, as the host names them when it has ended a worker
MEMORY, PROCESSES, SCRATCH, CPU = "memory", "processes", "scratch", "cpu"


def explanation_of_end(breach: str, limits: WorkerLimits) -> str:
    """What to tell the student about a worker that was ended for that breach; empty when unknown."""
    return {
        MEMORY: f"it held more than {_mib(limits.memory_bytes)} of memory at once, and was ended. "
        "Is there a tensor far larger than the result, or a list that only grows?",
        PROCESSES: f"it had more than {limits.processes} processes and threads at once, and was ended. "
        "Attention needs none of its own",
        SCRATCH: f"it filled its folder for temporary files (more than {_mib(limits.scratch_bytes)}, or "
        f"{limits.scratch_entries:,} files and folders), and was ended. Attention needs no files",
        CPU: f"it used up the {limits.cpu_seconds} s of processor time that a submission has. Is there a "
        "loop that never ends, or work done in more than one thread?",
    }.get(breach, "")


def explanation(error: BaseException, limits: WorkerLimits, *, confined: bool) -> str:
    """What stands behind an error that a limit has caused, for the student; empty when none did."""
    words = str.__str__(str(error))
    number = _errno_of(error) if isinstance(error, OSError) else None
    out_of_memory = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc")
    if isinstance(error, MemoryError) or number == errno.ENOMEM or any(w in words for w in out_of_memory):
        return f"A submission may use {_mib(limits.memory_bytes)} of memory, and this asked for more."
    if number == errno.EAGAIN or "can't start new thread" in words:
        return f"A submission may have {limits.processes} processes and threads, and this asked for more."
    if number == errno.EFBIG:
        return f"A submission may write files of up to {_mib(limits.file_bytes)}, and this one grew larger."
    if number == errno.EMFILE:
        return f"A submission may have {limits.open_files} files open at once, and this asked for more."
    if confined and number in (errno.EPERM, errno.EACCES):
        return (
            "While it is graded, a submission may read itself and the libraries, and write to a folder for "
            "temporary files; the network, other files and other processes are closed to it."
        )
    return ""


def _mib(count: int) -> str:
    return f"{count / MIB:,.4g} MiB" if count < 10_000 * MIB else f"{count // MIB:,} MiB"
