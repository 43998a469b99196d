"""The command that starts the host in namespaces of its own: bubblewrap, where it is installed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.sandbox.levels import ROOT
from grader.sandbox.rules import driver_devices, library_names, library_paths

# as root: to become a worker's user, and to watch and end workers that are another's
_RIGHTS = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE")
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")  # folders, or links into /usr
_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/etc/alternatives")
_MACHINE = ("/sys/devices/system", "/sys/bus/pci", "/sys/module", "/sys/devices", "/sys/class")


def wrapped(command: Sequence[str], stages: Path) -> list[str]:
    """``command`` in its own process, network, mount and IPC namespaces.

    It sees, to read: the system's programs and libraries, the interpreter, and of this project the
    one package it runs from; to write: ``stages``; and nothing else. Raises FileNotFoundError
    when there is no bubblewrap.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError(
            "bubblewrap is not installed (the Debian package bubblewrap; its program: bwrap)"
        )
    arguments = [program, "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    arguments += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "candidate", "--chdir", "/"]
    if os.geteuid() == 0:
        arguments += ["--cap-drop", "ALL"]
        for right in _RIGHTS:
            arguments += ["--cap-add", right]
    for path in _SYSTEM:
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    bound = ["/usr"]
    for path in (*_FILES, *_interpreter(), *library_paths(), *_through_links()):
        if os.path.exists(path) and not any(_is_within(path, other) for other in bound):
            arguments += ["--ro-bind", path, path]
            bound.append(path)
    for path in ("__init__.py", "errors.py", "candidate", "sandbox"):
        arguments += ["--ro-bind", str(ROOT / "grader" / path), str(ROOT / "grader" / path)]
    devices = driver_devices()
    for path in devices:
        arguments += ["--dev-bind-try", path, path]
    for path in _MACHINE if devices else _MACHINE[:1]:
        arguments += ["--ro-bind-try", path, path]
    return [*arguments, "--bind", str(stages), str(stages), "--", *command]


def _interpreter() -> list[str]:
    """What starting this interpreter takes: its program, behind all links, and its environment's marks."""
    places = []
    for prefix in (sys.prefix, sys.base_prefix):
        places += [os.path.join(prefix, "bin"), os.path.join(prefix, "pyvenv.cfg")]
    return [*places, os.path.dirname(os.path.realpath(sys.executable))]


def _through_links() -> list[str]:
    """Library folders by names other than their own: an environment that is reached through a link."""
    return [name for name in map(os.path.abspath, library_names()) if os.path.realpath(name) != name]


def _is_within(path: str, folder: str) -> bool:
    return Path(folder) in (Path(path), *Path(path).parents)
