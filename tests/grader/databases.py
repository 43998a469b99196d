"""A PostgreSQL of a test's own: Debian's programs, run by an ordinary user, in a folder that goes away."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_USER = "nobody"  # PostgreSQL refuses to run as root


def postgres_programs() -> Path | None:
    """The folder of the newest PostgreSQL that is installed, if one is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    return found[-1].parent if found else None


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty database, reached over a socket in its own folder and nowhere else."""
    programs = postgres_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # short: a socket's path has 107 bytes
    data, socket = folder / "data", folder / "socket"
    socket.mkdir()
    if os.geteuid() == 0:
        owner = pwd.getpwnam(_USER)
        for path in (folder, socket):
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def run(program: str, *arguments: object) -> None:
        as_user = ["setpriv", f"--reuid={_USER}", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*as_user, programs / program, *map(str, arguments)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)

    try:
        run(
            "initdb", "-D", data, "-U", "grader", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"
        )
        settings = f"-c listen_addresses='' -c unix_socket_directories={socket} -c fsync=off"
        run("pg_ctl", "-D", data, "-l", folder / "log", "-o", settings, "-w", "start")
        try:
            run("createdb", "-h", socket, "-U", "grader", "gradebook")
            yield f"postgresql+psycopg://grader@/gradebook?host={socket}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
