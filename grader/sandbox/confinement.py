"""How a worker gives up what it does not need, for good, before it imports a student's file."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from grader.sandbox.rules import Rules
from grader.sandbox.stage import Stage
from grader.sandbox.syscalls import filled_in, load_filter

_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 4, 8, 38
_CAPABILITY_VERSION = 0x20080522
_CAP_DAC_READ_SEARCH = 2


def give_up(rules: Rules, stage: Stage) -> None:
    """Become the stage's user and, from level ``confined`` up, apply Landlock and seccomp.

    Raises OSError when that cannot be done: the worker must not go on then.
    """
    if stage.user is not None:
        become(stage.user, keep_reading=rules.keep_reading)
    if rules.confines:
        tasks = os.listdir("/proc/self/task")
        if len(tasks) != 1:  # the others would stay free
            raise OSError(f"a worker to be confined must have one thread, this one has {len(tasks)}")
        restrict_files(rules, stage)
        load_filter(filled_in(rules.filter, os.getpid()))


def become(user: int, *, keep_reading: bool) -> None:
    """Drop root's rights and be that user from now on, in no group but its own.

    ``keep_reading`` keeps the one right to read what only root may, for an interpreter that lies
    in root's home; Landlock, which knows no exceptions, still says which files that can be.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_KEEPCAPS, int(keep_reading), 0, 0, 0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if keep_reading:
        head = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        rights = 1 << _CAP_DAC_READ_SEARCH
        data = (ctypes.c_uint32 * 6)(rights, rights, 0, 0, 0, 0)
        if libc.capset(head, data) != 0:
            raise OSError(ctypes.get_errno(), "the rights of root could not be dropped")
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # becoming another user made it unreadable to itself, too
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def restrict_files(rules: Rules, stage: Stage) -> None:
    """Read only what the rules say and the submission; write only the scratch; signal only oneself."""
    from landlockpy import AccessFS, Ruleset, Scope

    reading = AccessFS.READ_FILE | AccessFS.READ_DIR
    writing = AccessFS.WRITE_FILE | AccessFS.TRUNCATE
    keeping = (
        *(AccessFS.REMOVE_DIR, AccessFS.REMOVE_FILE, AccessFS.MAKE_DIR, AccessFS.MAKE_REG),
        *(AccessFS.MAKE_SYM, AccessFS.REFER),
    )
    everything = reading | writing
    for right in keeping:
        everything |= right
    with Ruleset(scoped=Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET) as ruleset:
        for path in (*rules.readable, str(stage.submission)):
            with contextlib.suppress(FileNotFoundError):
                ruleset.allow_path(path, reading if Path(path).is_dir() else AccessFS.READ_FILE)
        for path in rules.writable:
            with contextlib.suppress(FileNotFoundError):
                ruleset.allow_path(path, AccessFS.READ_FILE | writing | AccessFS.IOCTL_DEV)
        ruleset.allow_path(stage.scratch, everything)
        ruleset.restrict()
