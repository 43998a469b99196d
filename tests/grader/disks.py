"""Small disks that a test can fill, and mend again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount a disk"
)


@dataclass(frozen=True)
class Disk:
    """A file system of its own at ``path``."""

    path: Path

    def fill(self, *, leave: int = 0) -> None:
        """Use up all its bytes but so many."""
        with self._filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 16)) == 1 << 16:
                    pass
            except OSError:
                pass  # full
            file.truncate(max(0, file.tell() - leave))

    def make_room(self) -> None:
        self._filler.unlink(missing_ok=True)

    def mount_again(self, options: str) -> None:
        """With these options, such as ``ro`` or ``nr_inodes=100``."""
        subprocess.run(["mount", "-o", f"remount,{options}", self.path], check=True)

    @property
    def _filler(self) -> Path:
        return self.path / ".filler"


@contextmanager
def disk(path: Path, options: str = "size=1m") -> Iterator[Disk]:
    """A new disk at the new folder ``path``; skips the test where none can be mounted."""
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "headstart-test", path], check=False)
    if mounted.returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        path.chmod(0o755)
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)
