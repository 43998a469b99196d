"""A submission that reaches for what is not its own. Run it behind the wall only.

Each function returns what it got hold of, or raises what the system said to it.
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch

MIB = 2**20
KEPT = []
libc = ctypes.CDLL(None, use_errno=True)


def truth():
    return "the truth"


def whereabouts():
    return {"pid": os.getpid(), "folder": str(Path(__file__).parent), "scratch": os.getcwd()}


def system_call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# reading


def read_users(known):
    return len(Path("/etc/passwd").read_bytes())


def read_hidden_tests(known):
    return len(next(Path(known["root"], "tests/hidden").glob("test_*.py")).read_bytes())


def read_neighbour(known):
    return len(Path(known["neighbour"]["folder"], "intruder.py").read_bytes())


def read_environment(known):
    return len(Path(f"/proc/{known['grader']}/environ").read_bytes())


def list_processes(known):
    return next(pid for pid in os.listdir("/proc") if pid == str(known["grader"]))


# writing


def write_beside(known):
    path = Path("/var/tmp", known["mark"])
    path.write_text("left behind")
    return str(path)


def write_shared_memory(known):
    path = Path("/dev/shm", known["mark"])
    path.write_text("left behind")
    return str(path)


def write_submission(known):
    return Path(__file__).write_text("the submission, rewritten")


def write_neighbour(known):
    return Path(known["neighbour"]["scratch"], "planted").write_text("planted")


def write_grader(known):
    return Path(known["target"]).write_text("overwritten")


def change_permissions(known):
    os.chmod(known["target"], 0o777)
    return "changed"


def change_times(known):
    os.utime(known["target"], (1, 1))
    return "changed"


def truncate(known):
    os.close(os.open(known["target"], os.O_RDONLY | os.O_TRUNC))
    return "emptied"


# others


def open_connection(known):
    with socket.create_connection(("127.0.0.1", known["port"]), timeout=2) as connection:
        return connection.getpeername()[1]


def start_program(known):
    return subprocess.run(["true"], check=True).returncode == 0


def signal_grader(known):
    os.kill(known["grader"], 0)
    return "could have been any signal"


def signal_host(known):
    if os.getppid() < 2:
        raise ProcessLookupError("the host is not to be seen")
    os.kill(os.getppid(), 0)
    return "could have been any signal"


def signal_neighbour(known):
    os.kill(known["neighbour"]["pid"], 0)
    return "could have been any signal"


def trace_neighbour(known):
    attach, detach = 16, 17
    if libc.ptrace(attach, known["neighbour"]["pid"], 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.waitpid(known["neighbour"]["pid"], 0)
    libc.ptrace(detach, known["neighbour"]["pid"], 0, 0)
    return "attached"


def new_namespace(known):
    if libc.unshare(0x10000000) != 0:  # CLONE_NEWUSER
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "root of its own"


def rare_system_call(known):
    return system_call(425, 8, ctypes.create_string_buffer(256)) > 0  # io_uring_setup


def turn_off_watch(known):
    sys.modules["grader.candidate.observation"]._armed = frozenset()
    return "nothing is refused any more"


# using too much


def fork_bomb():
    while True:
        os.fork()


def thread_bomb():
    while True:
        thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
        thread.start()
        KEPT.append(thread)


def hoard():
    while True:
        KEPT.append(torch.ones(16 * MIB // 4))


def hoard_in_children():
    for _ in range(8):
        if os.fork() == 0:
            KEPT.append(b"x" * (150 * MIB))
            time.sleep(60)
    time.sleep(60)


def fill_scratch():
    block = b"x" * MIB
    for number in range(10_000):
        with open(f"{number}", "wb") as stream:
            for _ in range(32):
                stream.write(block)


def litter_scratch():
    for number in range(1_000_000):
        os.mkdir(f"{number}")


def nest_scratch():
    for _ in range(5000):
        os.mkdir("deeper")
        os.chdir("deeper")
    time.sleep(60)


def write_large_file():
    with open("large", "wb") as stream:
        while True:
            stream.write(b"x" * MIB)


def open_many_files():
    while True:
        KEPT.append(os.open("/dev/null", os.O_RDONLY))


def burn():
    while True:
        pass
