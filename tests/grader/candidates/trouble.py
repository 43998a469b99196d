"""A submission that tries what a submission must not get away with. Run it behind the wall only."""

import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time

import torch
from torch import nn

KEPT = []


class Model(nn.Module):
    def forward(self, x):
        return x


def truth():
    return "the truth"


# time


def hang():
    while True:
        pass


class Slow(nn.Module):
    def forward(self, seconds):
        time.sleep(seconds)
        return seconds


def stubborn():
    while True:
        try:
            while True:
                time.sleep(0.01)
        except BaseException:
            continue


def hang_in_c():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    sum(range(10**12))


def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(60)


def chatter():
    while True:
        print("x" * 10_000)


# ends


def leave():
    os._exit(0)


def segfault():
    ctypes.string_at(0)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_self_oddly():
    os.kill(os.getpid(), 40)


def abort():
    os.abort()


def recurse(n=0):
    return recurse(n + 1)


def overflow_stack():
    sys.setrecursionlimit(10**9)

    def deeper(n):
        return [*map(deeper, [n + 1])]

    return deeper(0)


def close_everything():
    os.closerange(0, 1000)


# output


def flood(size):
    line = "x" * 1023
    for _ in range(size // 1024):
        print(line)
    return truth()


def speak():
    print("aloud")
    print("aside", file=sys.stderr)
    os.write(1, b"raw\n")


def leave_printing():
    for _ in range(3):
        subprocess.Popen(["yes"])


def garbage(descriptor):
    os.write(descriptor, os.urandom(1000))
    return truth()


# answers


def oversize():
    return torch.zeros(257 * 2**20, dtype=torch.uint8)


def frame(number, value="forged"):
    reply = {"value": value, "args": [], "kwargs": {}, "devices": []}
    header = json.dumps({"id": number, "ok": reply}).encode()
    return struct.pack("!4sIQ", b"HSF1", len(header), 0) + header


def pending():
    """The id of the request that is being answered, from the caller's own frame."""
    caller = sys._getframe()
    while "number" not in caller.f_locals or "operation" not in caller.f_locals:
        caller = caller.f_back
    return caller.f_locals["number"]


def to_come(number):
    return b"".join(frame(number + n) for n in range(1, 4))


def forge_ahead():
    os.write(3, frame(pending()) + to_come(pending()))
    return "forged"


def forge_behind():
    threading.Timer(0.1, os.write, (3, to_come(pending()))).start()
    return truth()


def forge_this():
    os.write(3, frame(pending()) * 3)
    return "forged"


def twin():
    os.fork()
    return "forged"


# surroundings


def surroundings():
    with open("/proc/self/environ") as stream:
        everything = stream.read() + repr(os.environ)
    descriptors = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
            descriptors.append(int(name))
        except OSError:
            pass  # the one that listed them
    session = [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()]
    return [sorted(os.environ), everything, sorted(descriptors), session, os.getppid()]


def import_path():
    return list(sys.path)


def hoard(how):
    if how == "bytes":
        return len(bytearray(2**31))
    if how == "tensor":
        return torch.empty(2**31).numel()
    with open("large", "wb") as stream:
        for _ in range(64):
            stream.write(b"x" * 2**20)
    return resource.getrlimit(resource.RLIMIT_FSIZE)


def leave_behind(how):
    if how in ("child", "session"):
        return [subprocess.Popen(["sleep", "60"], start_new_session=how == "session").pid]
    readable, writable = os.pipe()
    if os.fork() == 0:
        os.setsid()
        for _ in range(1 if how == "daemon" else 5):
            if os.fork() == 0:
                os.setsid()
                os.write(writable, b"%d\n" % os.getpid())
                if how == "daemon":
                    time.sleep(60)
                    os._exit(0)
        if how == "grandchildren":
            time.sleep(60)
        os._exit(0)
    os.close(writable)
    time.sleep(0.2)
    return [int(pid) for pid in os.read(readable, 4096).split()]


def litter():
    folder = os.getcwd()
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                with open(f"{folder}/{time.monotonic_ns()}", "w") as stream:
                    stream.write("x")
            except OSError:
                os.makedirs(folder, exist_ok=True)
    time.sleep(0.05)
    return folder


def remember(word):
    KEPT.append(word)
    return KEPT
