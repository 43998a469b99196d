"""Which system calls a confined worker is refused, and the filter that refuses them.

The filter is built once, in the host, as the program the kernel runs. The one thing that differs
between workers, their own process id, stands in it as a placeholder that is filled in after the fork.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import tempfile

_OWN_PID = 0x7A5E6E71  # the placeholder; larger than any process id
_INSTRUCTION = struct.Struct("=HBBI")  # struct sock_filter: code, jump if true, jump if false, operand
_RETURN = 0x06  # BPF_RET | BPF_K: its operand is an action, never compared with
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_CLONE_THREAD = 0x00010000
# ways to have the kernel send a signal to another process, or type into a terminal, by commands
_COMMANDS = {
    "fcntl": (8, 10, 15),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": (0x8901, 0x8902, 0x5412, 0x541C),  # FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX
}

NETWORK = (
    *("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "socketcall"),
    # the worker's own connection works without these; they could pass descriptors on
    *("sendmsg", "sendmmsg", "recvmsg", "recvmmsg"),
)
PROCESSES = ("fork", "vfork", "execve", "execveat")
OTHERS_MEMORY = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "perf_event_open", "userfaultfd"),
    *("migrate_pages", "move_pages", "get_robust_list"),
)
# memory that lies in no process, so that no watch on processes would see it
MEMORY_OF_NOBODY = (
    *("shmget", "shmat", "shmctl", "semget", "semctl", "msgget", "msgctl", "mq_open", "memfd_create"),
)
# what changes a file without opening it, which Landlock lets pass
FILE_ATTRIBUTES = (
    *("chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat"),
    *("utime", "utimes", "utimensat", "futimesat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
)
FILES_BY_OTHER_WAYS = (
    *("name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark"),
    *("inotify_init", "inotify_init1", "inotify_add_watch", "quotactl", "mknod", "mknodat"),
)
MACHINE = (
    *("bpf", "keyctl", "add_key", "request_key", "mount", "umount", "umount2", "pivot_root", "chroot"),
    *("unshare", "setns", "swapon", "swapoff", "reboot", "kexec_load", "kexec_file_load", "acct"),
    *("init_module", "finit_module", "delete_module", "create_module", "iopl", "ioperm", "personality"),
    *("settimeofday", "clock_settime", "clock_settime64", "stime", "adjtimex", "clock_adjtime"),
    *("sethostname", "setdomainname", "syslog", "vhangup", "nfsservctl", "lookup_dcookie", "uselib"),
    *("io_setup", "io_submit", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "modify_ldt"),
    *("setpriority", "ioprio_set", "tkill", "ustat", "sysfs", "_sysctl", "vm86", "vm86old"),
)
REFUSED = (
    *(*NETWORK, *PROCESSES, *OTHERS_MEMORY, *MEMORY_OF_NOBODY),
    *(*FILE_ATTRIBUTES, *FILES_BY_OTHER_WAYS, *MACHINE),
)
ON_SELF_ONLY = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")  # first argument: a process id
# first argument: a process id, 0 for oneself
ON_ZERO_ONLY = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")

# From 424 on, a system call has the same number on every processor. Of those, and of all that are yet
# to come, only these are let through: close_range, faccessat2, epoll_pwait2, futex_waitv,
# set_mempolicy_home_node, cachestat, map_shadow_stack, futex_wake, futex_wait, futex_requeue, mseal.
_FIRST_COMMON, _LAST_COMMON = 424, 640
_HARMLESS = frozenset({436, 439, 441, 449, 450, 451, 453, 454, 455, 456, 462})
# The others are answered with "no such call", as an older kernel would: callers know what to do then.
# For clone3 nothing else will do: glibc falls back to clone, whose flags a filter can see.


def build_filter(*, truncation: bool, device_memory: bool = False) -> bytes:
    """The filter's program. ``truncation``: refuse to truncate by path, where Landlock does not see it.

    ``device_memory``: let through what a GPU's driver shares memory with. Raises OSError or
    RuntimeError where libseccomp is missing or refuses.
    """
    import pyseccomp as sc  # type: ignore[import-untyped]

    rules = sc.SyscallFilter(sc.ALLOW)
    rules.set_attr(sc.Attr.ACT_BADARCH, sc.KILL_PROCESS)
    refusal, unknown = sc.ERRNO(errno.EPERM), sc.ERRNO(errno.ENOSYS)
    for name in REFUSED:
        if not (device_memory and name == "memfd_create"):
            _refuse(sc, rules, refusal, name)
    for number in range(_FIRST_COMMON, _LAST_COMMON):
        if number not in _HARMLESS:
            rules.add_rule(unknown, number)
    _refuse(sc, rules, refusal, "clone", sc.Arg(0, sc.MASKED_EQ, _CLONE_THREAD, 0))
    for name in ON_SELF_ONLY:
        _refuse(sc, rules, refusal, name, sc.Arg(0, sc.NE, _OWN_PID))
    for name in ON_ZERO_ONLY:
        _refuse(sc, rules, refusal, name, sc.Arg(0, sc.NE, 0))
    for name, commands in _COMMANDS.items():
        for command in commands:
            _refuse(sc, rules, refusal, name, sc.Arg(1, sc.MASKED_EQ, 0xFFFFFFFF, command))
    if truncation:
        _refuse(sc, rules, refusal, "truncate")
        reading = os.O_TRUNC | os.O_ACCMODE  # to open for reading and truncate is possible, and no use
        for name, place in (("open", 1), ("openat", 2)):
            _refuse(sc, rules, refusal, name, sc.Arg(place, sc.MASKED_EQ, reading, os.O_TRUNC))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _refuse(sc: object, rules: object, action: int, name: str, *arguments: object) -> None:
    number: int = sc.resolve_syscall(sc.Arch.NATIVE, name)  # type: ignore[attr-defined]
    if number >= 0:  # otherwise this processor has no such call
        rules.add_rule(action, number, *arguments)  # type: ignore[attr-defined]


def filled_in(program: bytes, pid: int) -> bytes:
    """The program for the process ``pid``."""
    instructions = [
        _INSTRUCTION.pack(code, yes, no, pid if operand == _OWN_PID and code != _RETURN else operand)
        for code, yes, no, operand in _INSTRUCTION.iter_unpack(program)
    ]
    return b"".join(instructions)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def load_filter(program: bytes) -> None:
    """Put this thread, and all it will start, under the filter, for good. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(program, len(program))
    whole = _Program(len(program) // _INSTRUCTION.size, ctypes.cast(text, ctypes.c_void_p))
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(whole), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"the filter of system calls was refused: {os.strerror(number)}")
