"""The ground that attacks are tried on: folders with decoys, and what there is to see before and after."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.sandbox.stage import is_spare_user, new_folder, remove
from grader.sandbox.watchdog import descendants

_PATIENCE_SECONDS = 3.0  # what is being cleared away gets so long to be gone
_NOT_OURS = frozenset(
    {".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "build"}
)
_PR_SET_CHILD_SUBREAPER = 36
_IPC = {"shm": "shmctl", "sem": "semctl", "msg": "msgctl"}
_DECOYS = {
    "gradebook/scores.csv": "submission,score\nneighbour,0\n",
    "gradebook/journal.jsonl": '{"submission": "neighbour", "score": 0}\n',
    "home/.bashrc": "# nothing yet\n",
    "home/.ssh/id_ed25519": "a private key\n",
}

Facts = tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """What there is at one moment: files and what is known of them, processes, what lies in shared places."""

    files: Mapping[str, Facts]
    processes: frozenset[int]
    shared: frozenset[str]
    segments: frozenset[tuple[str, int]]


@dataclass
class Surroundings:
    """A folder of our own that holds the class, the results and the decoys. Use as a context manager.

    While it is in use, the decoy home is the home, and the decoy for temporary files is where they
    go. What attacks start is inherited by this process, so that it can be found.
    """

    root: Path
    base: Path = field(init=False)
    listening: socket.socket = field(init=False)

    def __enter__(self) -> Self:
        self.base = new_folder()
        self.base.chmod(0o711)  # workers pass through to their stages
        self.mark = f"attack-{self.base.name.rpartition('-')[2]}"
        for name, content in _DECOYS.items():
            (self.base / name).parent.mkdir(parents=True, exist_ok=True)
            (self.base / name).write_text(content)
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)
        self._places = dict.fromkeys([tempfile.gettempdir(), "/var/tmp", "/dev/shm"])
        self._restore = (tempfile.tempdir, os.environ.get("HOME"), os.environ.get("TMPDIR"))
        tempfile.tempdir = os.environ["TMPDIR"] = str(self.temporary)
        os.environ["HOME"] = str(self.home)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self._adopt(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._adopt(False)
        self.listening.close()
        tempfile.tempdir, home, temporary = self._restore
        for name, value in (("HOME", home), ("TMPDIR", temporary)):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        remove(self.base)

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    @property
    def gradebook(self) -> Path:
        return self.base / "gradebook"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def temporary(self) -> Path:
        return self.base / "tmp"

    @property
    def handed_in(self) -> Path:
        return self.base / "class"

    @property
    def out(self) -> Path:
        return self.base / "out"

    def clear(self) -> None:
        """Empty folders for a new class and its results, which nobody else may look into."""
        for folder in (self.handed_in, self.out):
            remove(folder)
            folder.mkdir(mode=0o700)

    def look(self) -> Seen:
        """What there is now. The results are left out: they are the grader's to write."""
        files = dict(_facts(self.root, _NOT_OURS))
        files |= _facts(self.base, frozenset({self.out.name}))
        return Seen(files, frozenset(descendants(os.getpid())), self._shared(), frozenset(_segments()))

    def changes(self, before: Seen, *, patient: bool = True) -> list[str]:
        """What is not as it was, in words; ``patient`` waits for what is on its way out."""
        deadline = time.monotonic() + (_PATIENCE_SECONDS if patient else 0)
        while (found := self._changes(before)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def tidy(self, before: Seen) -> None:
        """Remove what an attack has left behind: processes first, as they could make more."""
        now = self.look()
        for pid in now.processes - before.processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        for path in now.shared - before.shared:
            remove(Path(path)) if Path(path).is_dir() else Path(path).unlink(missing_ok=True)
        for kind, number in now.segments - before.segments:
            control = getattr(ctypes.CDLL(None), _IPC[kind])
            control(number, *((0,) if kind == "sem" else ()), 0, None)  # 0: IPC_RMID

    def _changes(self, before: Seen) -> list[str]:
        now = self.look()
        found = []
        for path in sorted(before.files.keys() | now.files.keys()):
            if before.files.get(path) != now.files.get(path):
                how = "new" if path not in before.files else "gone" if path not in now.files else "changed"
                found.append(f"{path} is {how}")
        found += [f"process {pid} runs on" for pid in sorted(now.processes - before.processes)]
        found += [f"{path} was left behind" for path in sorted(now.shared - before.shared)]
        found += [f"{kind} segment {id} was left behind" for kind, id in now.segments - before.segments]
        return found

    def _shared(self) -> frozenset[str]:
        """What lies in folders open to all and is a worker's, by its user or by the mark in its name."""
        found = set()
        for place in self._places:
            with contextlib.suppress(OSError), os.scandir(place) as listing:
                for entry in listing:
                    with contextlib.suppress(OSError):
                        owner = entry.stat(follow_symlinks=False).st_uid
                        if self.mark in entry.name or is_spare_user(owner):
                            found.add(entry.path)
        return frozenset(found - {str(self.base)})

    def _adopt(self, adopt: bool) -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def _facts(root: Path, left_out: frozenset[str]) -> dict[str, Facts]:
    """What a change would show in: of a file also the times, which nobody can set back, of a folder not."""
    found: dict[str, Facts] = {}
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as listing:
            for entry in listing:
                if entry.name in left_out:
                    continue
                status = entry.stat(follow_symlinks=False)
                facts: Facts = (status.st_mode, status.st_uid, status.st_ino)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
                else:
                    facts += (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                found[entry.path] = facts
    return found


def _segments() -> set[tuple[str, int]]:
    """System V segments that workers made: they outlive every process."""
    found = set()
    for kind in _IPC:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()
            column = lines[0].split().index("cuid")
            for fields in map(str.split, lines[1:]):
                if is_spare_user(int(fields[column])):
                    found.add((kind, int(fields[1])))
    return found
