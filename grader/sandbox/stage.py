"""The folders that one submission is run in: its files, to be read, and its scratch, to be written."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "headstart-"
# user ids that nobody has: high ones, and for containers, where those are not mapped, lower ones
_SPARE_USERS = (range(0x60000000, 0x6FFFFFFF), range(40_000, 60_000))


@dataclass(frozen=True)
class Stage:
    """``folder`` holds ``submission`` and ``scratch``. They belong to ``user``, whom the worker becomes;
    None where the grader does not run as root and so cannot let it become anybody else."""

    folder: Path
    user: int | None

    @property
    def submission(self) -> Path:
        return self.folder / "submission"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    @classmethod
    def put_up(cls, parent: Path | None, files: Mapping[str, bytes]) -> Stage:
        """A new stage within ``parent``, or within the folder for temporary files, with these files.

        Raises OSError, and leaves nothing, when the disk does not take them.
        """
        stage = cls(new_folder(parent), spare_user())
        try:
            return stage._furnished(files)
        except BaseException:
            stage.remove()
            raise

    def _furnished(self, files: Mapping[str, bytes]) -> Stage:
        """With its folders and files; without a user of its own where there can be none."""
        self.submission.mkdir()
        self.scratch.mkdir()
        for name, content in files.items():
            path = self.submission / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if self.user is None:
            return self
        try:
            self._hand_over(self.user)
        except PermissionError:  # root in name only, as some containers have it
            return Stage(self.folder, None)
        return self

    def _hand_over(self, user: int) -> None:
        """Let that user alone read the files and write the scratch; root keeps owning the files."""
        for path in (self.folder, self.submission, *self.submission.rglob("*")):
            os.chown(path, -1, user)
            path.chmod(0o750 if path.is_dir() else 0o640)
        self._hand_over_scratch(user)

    def _hand_over_scratch(self, user: int) -> None:
        os.chown(self.scratch, user, user)
        self.scratch.chmod(0o700)

    def empty_scratch(self) -> None:
        """Give the next worker a scratch that is not full; to be called when no worker is left."""
        remove(self.scratch)
        with contextlib.suppress(OSError):  # what could not be removed is in the way: it stays as it is
            self.scratch.mkdir()
            if self.user is not None:
                self._hand_over_scratch(self.user)

    def remove(self) -> None:
        """Remove all of it, whatever was done to its permissions and however deeply it is nested."""
        remove(self.folder)


def new_folder(parent: Path | None = None) -> Path:
    """A new folder that :func:`sweep` will find once this process has ended."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))


def sweep() -> None:
    """Remove what graders that were killed have left: the folders are named for their process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        try:
            if pid.isdecimal() and folder.is_dir() and not folder.is_symlink():
                os.kill(int(pid), 0)
        except ProcessLookupError:
            remove(folder)
        except (OSError, OverflowError):
            continue  # somebody else's


def remove(folder: Path) -> None:
    """Remove a folder in which a submission may have written."""

    def open_up(again: Callable[[str], object], path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            for place in (Path(path).parent, Path(path)):
                is_ours = place == folder or folder in place.parents
                if is_ours and stat.S_ISDIR(place.lstat().st_mode):
                    place.chmod(0o700)
            if again in (os.unlink, os.rmdir):
                again(path)
            elif Path(path) != folder:
                shutil.rmtree(path, ignore_errors=True)

    try:
        shutil.rmtree(folder, onerror=open_up)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False)


def spare_user() -> int | None:
    """A user id for one worker alone; None where this process cannot become another user."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    for users in _SPARE_USERS:
        if _is_mapped(users):
            return users[secrets.randbelow(len(users))]
    return None


def is_spare_user(user: int) -> bool:
    """Whether that id is one that only workers have."""
    return any(user in users for users in _SPARE_USERS)


def _is_mapped(users: range) -> bool:
    """Whether these ids exist here: in a container only some do."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True  # no such thing as a mapping
    spans = [(int(first), int(count)) for first, _, count in (line.split() for line in lines)]
    return any(first <= users.start and users.stop <= first + count for first, count in spans)
