"""Trying a level of isolation for real, in a process that ends right afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.sandbox.levels import ROOT, Level
from grader.sandbox.stage import Stage, new_folder, remove

_SECONDS = 20.0


def try_out(level: Level) -> str:
    """Why this machine does not offer the level; empty when it does."""
    parent = new_folder()
    try:
        parent.chmod(0o711)
        stage = Stage.put_up(parent, {"file": b"content"})
        told = [str(level), str(stage.folder), stage.user]
        command = boot("probing", f"probing.main(*{told!r})")
        if level is Level.NAMESPACED:
            from grader.sandbox.namespaces import wrapped

            command = wrapped(command, parent)
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, ImportError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        remove(parent)
    with contextlib.suppress(ValueError, IndexError):
        return str(json.loads(ran.stdout.splitlines()[-1]))
    words = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return f"the trial ended with status {ran.returncode}: {words[:200]}"


def boot(module: str, call: str) -> list[str]:
    """The command that runs ``call`` on a module of this package in a fresh, isolated interpreter."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from grader.sandbox import {module}; {call}"
    return [sys.executable, "-I", "-c", code]


def main(name: str, folder: str, user: int | None) -> None:
    """In the trial: apply the level to this process, see whether it holds, print why not."""
    try:
        print(json.dumps(_weakness(Level.named(name), Stage(Path(folder), user))))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"))


def _weakness(level: Level, stage: Stage) -> str:
    from grader.sandbox.confinement import give_up
    from grader.sandbox.rules import find_rules

    sys.path[:] = [entry for entry in sys.path if entry != str(ROOT)]
    parent = os.getppid()
    give_up(find_rules(level), stage)
    forbidden: dict[str, Callable[[], Any]] = {
        "read the list of users": lambda: Path("/etc/passwd").read_bytes(),
        "read the assignment": lambda: (ROOT / "assignment.toml").read_bytes(),
        "write beside its scratch": lambda: (stage.folder / "new").write_bytes(b""),
        "change the submission": lambda: (stage.submission / "file").write_bytes(b""),
        "open a socket": lambda: socket.socket(),
        "start a process": os.fork,
        "signal its parent": lambda: os.kill(parent, 0),
    }
    for what, attempt in forbidden.items():
        with contextlib.suppress(OSError):
            attempt()
            return f"it was put up, and a worker could still {what}"
    if level is Level.NAMESPACED and os.getpid() > 64:
        return "it was put up, and a worker still saw the processes of the machine"
    (stage.scratch / "new").write_bytes((stage.submission / "file").read_bytes())
    return ""
