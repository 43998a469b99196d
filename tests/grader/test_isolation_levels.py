"""What each level of isolation prevents: every cell of the tables in docs/security.md is tried here."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from project import wait_until

from grader.candidate.faults import CandidateError, StudentError
from grader.candidate.interface import Candidate
from grader.run.grading import Options, UsageError, level_for
from grader.sandbox.confinement import give_up
from grader.sandbox.isolated import Deadlines, IsolatedTransport, isolated_candidate
from grader.sandbox.launch import WarmHost
from grader.sandbox.levels import ROOT, Level, offers
from grader.sandbox.limits import MEMORY, MIB, PROCESSES, WorkerLimits
from grader.sandbox.probing import _weakness, try_out
from grader.sandbox.rules import Rules, find_rules
from grader.sandbox.stage import Stage
from grader.sandbox.watchdog import Watch, is_full

HERE = Path(__file__).parent
SOURCES = {name: (HERE / "candidates" / name).read_bytes() for name in ("intruder.py", "ordinary.py")}
HOMES = {
    name.decode(): file
    for file, source in SOURCES.items()
    for name in re.findall(rb"^(?:def|class) (\w+)", source, re.MULTILINE)
}
LEVELS = [Level.PROCESS, Level.CONFINED, Level.NAMESPACED]
SAID_NO = ("PermissionError", "FileNotFoundError", "ProcessLookupError", "OSError", "StopIteration")
Table = list[tuple[str, dict[str, str]]]


def table(title: str) -> Table:
    """The rows of the table under that heading, each known by the function that its last column names."""
    text = (ROOT / "docs/security.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return [(row[-1].strip("`"), dict(zip(head, row, strict=True))) for row in rows]


PREVENTED, BOUNDED = table("What each level prevents"), table("What each level bounds")


@pytest.fixture(scope="module", params=LEVELS, ids=str)
def level(request: pytest.FixtureRequest) -> Level:
    if why_not := offers()[request.param]:
        pytest.skip(f"this machine does not offer {request.param}: {why_not}")
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def host(level: Level) -> Iterator[WarmHost]:
    with WarmHost(level) as host:
        yield host


Sit = Callable[..., tuple[Candidate, IsolatedTransport]]


@pytest.fixture
def sit(host: WarmHost) -> Iterator[Sit]:
    made = []

    def make(seconds: float = 20.0, **limits: int) -> tuple[Candidate, IsolatedTransport]:
        settings: Any = {"deadlines": Deadlines(seconds), "limits": WorkerLimits(**limits)}
        candidate, transport = isolated_candidate(host, SOURCES, HOMES, **settings)
        made.append(candidate)
        return candidate, transport

    yield make
    for candidate in made:
        candidate.close()


@pytest.fixture
def neighbour(sit: Sit) -> Candidate:
    return sit()[0]


@pytest.fixture
def known(neighbour: Candidate, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """All that an intruder could find out: where the grader and its neighbour are, and who."""
    target = tmp_path / "gradebook.csv"
    target.write_text("s01,0")
    os.utime(target, (1000, 1000))
    for folder in (tmp_path, *tmp_path.parents[:3]):
        with contextlib.suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o011)
    mark = f"headstart-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield {
            "root": str(ROOT),
            "grader": os.getpid(),
            "neighbour": neighbour.apply("whereabouts").value,
            "target": str(target),
            "mark": mark,
            "port": listening.getsockname()[1],
        }
    for folder in ("/var/tmp", "/dev/shm"):
        Path(folder, mark).unlink(missing_ok=True)


def attempt(candidate: Candidate, name: str, *args: Any) -> str:
    """What the intruder got, or an empty text when the system said no to it."""
    try:
        return str(candidate.apply(name, *args).value)
    except StudentError as error:
        if error.kind not in SAID_NO:
            raise
        return ""


def is_promised(cell: str, level: Level, transport: IsolatedTransport) -> bool:
    """Whether a cell of the table promises anything of this run."""
    own_user = transport._stage.user is not None
    if cell == "as root, with an open interpreter":
        return own_user and not find_rules(level).keep_reading
    return cell == "prevented" or (cell == "as root" and own_user)


@pytest.mark.parametrize(("name", "row"), PREVENTED, ids=[name for name, _ in PREVENTED])
def test_the_table_of_what_is_prevented_holds(
    sit: Sit, neighbour: Candidate, known: dict[str, Any], level: Level, name: str, row: dict[str, str]
) -> None:
    candidate, transport = sit()
    got = attempt(candidate, name, known)
    if is_promised(row[str(level)], level, transport):
        assert got == ""
        target = Path(known["target"])
        assert (target.read_text(), target.stat().st_mtime) == ("s01,0", 1000)
        assert target.stat().st_mode & 0o777 == 0o644
        assert not Path(known["neighbour"]["scratch"], "planted").exists()
    elif not got and row[str(level)] == "open":
        pytest.skip(f"{level} does not prevent it, and this machine does by other means")
    assert neighbour.apply("truth").value == "the truth"


SMALL = {"memory_bytes": 512 * MIB, "scratch_bytes": 64 * MIB, "scratch_entries": 500, "cpu_seconds": 1}
WIDE = {"memory_bytes": 512 * MIB, "scratch_bytes": 64 * MIB, "scratch_entries": 500}


@pytest.mark.parametrize(("name", "row"), BOUNDED, ids=[name for name, _ in BOUNDED])
def test_the_table_of_what_is_bounded_holds(
    sit: Sit, neighbour: Candidate, level: Level, host: WarmHost, name: str, row: dict[str, str]
) -> None:
    neighbour.load("truth")
    before = family(host)
    candidate, transport = sit(seconds=10.0, **(SMALL if name == "burn" else WIDE))
    words = row["what the student reads"] if row[str(level)] == "bounded" else "other processes are closed"
    if name == "fork_bomb":
        words += "|more than one frame"  # a child may answer, too, before it is counted
    started = time.monotonic()
    with pytest.raises(CandidateError, match=words):
        candidate.apply(name)
    assert time.monotonic() - started < 9
    candidate.close()
    assert not transport._stage.folder.exists()
    assert neighbour.apply("truth").value == "the truth"
    assert family(host) == before


def test_a_full_scratch_is_emptied_for_the_next_worker(sit: Sit) -> None:
    candidate, transport = sit(**WIDE)
    with pytest.raises(CandidateError, match="filled its folder"):
        candidate.apply("fill_scratch")
    assert list(transport._stage.scratch.iterdir()) == []
    assert candidate.apply("temporary_files").value


def family(host: WarmHost) -> int:
    """How many processes run below the host."""
    return len([p for p in psutil.Process(host.pid).children(recursive=True) if p.status() != "zombie"])


ORDINARY = [name for name, file in HOMES.items() if file == "ordinary.py" and name.islower()]


@pytest.mark.parametrize("name", [name for name in ORDINARY if name != "many_processes"])
def test_what_ordinary_answers_need_works(sit: Sit, name: str) -> None:
    if name == "plot":
        pytest.importorskip("matplotlib")
    candidate, transport = sit()
    assert candidate.apply(name).value is True
    assert transport.generation == 0


def test_more_processes_are_refused_in_words(sit: Sit, level: Level) -> None:
    candidate, _ = sit(seconds=5.0)
    if level is Level.PROCESS:
        pytest.skip("a level for which processes are open")
    with pytest.raises(StudentError, match="other files and other processes are closed to it"):
        candidate.apply("many_processes")


def test_the_level_is_what_the_candidate_says(sit: Sit, level: Level) -> None:
    assert sit()[0].isolation == str(level)


def test_a_worker_of_root_is_nobody_else(sit: Sit) -> None:
    (one, first), (other, second) = sit(), sit()
    if first._stage.user is None:
        pytest.skip("the grader does not run as root")
    assert first._stage.user != second._stage.user
    for candidate, transport in ((one, first), (other, second)):
        scratch = Path(candidate.apply("whereabouts").value["scratch"])
        assert scratch.stat().st_uid == transport._stage.user


# which levels there are


def test_a_level_without_its_program_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "bubblewrap is not installed" in try_out(Level.NAMESPACED)


def test_a_level_that_does_not_hold_is_not_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("grader.sandbox.confinement.give_up", lambda *_: None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert _weakness(Level.PROCESS, Stage(tmp_path, None)) == (
        "it was put up, and a worker could still read the list of users"
    )


@pytest.mark.skipif(bool(offers()[Level.CONFINED]), reason="nothing can be confined here")
def test_a_worker_with_threads_is_not_half_confined() -> None:
    # a confinement would hold the one thread that asks for it, and so none that matters
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    with pytest.raises(OSError, match="must have one thread"):
        give_up(Rules(Level.CONFINED), Stage(Path("/nowhere"), None))
    waiting.set()
    thread.join()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, Level.CONFINED),
        ({"isolation": Level.PROCESS}, Level.PROCESS),
        ({"isolation": Level.CONFINED, "require_isolation": Level.CONFINED}, Level.CONFINED),
        ({"isolation": Level.NONE}, "never run in the grader's own process"),
        ({"isolation": Level.NAMESPACED}, "does not offer --isolation namespaced: no bwrap"),
        ({"require_isolation": Level.NAMESPACED}, r"offers confined \(namespaced: no bwrap\)"),
        ({"isolation": Level.PROCESS, "require_isolation": Level.CONFINED}, "is below --require-isolation"),
    ],
)
def test_the_level_to_grade_at(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Level], found: Level | str
) -> None:
    there = dict.fromkeys(Level, "") | {Level.NAMESPACED: "no bwrap"}
    monkeypatch.setattr("grader.run.grading.offers", lambda: there)
    monkeypatch.setattr("grader.run.grading.offered", lambda: Level.CONFINED)
    if isinstance(found, Level):
        assert level_for(Options(**options)) is found  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match=found):
        level_for(Options(**options))  # type: ignore[arg-type]


# the watch, for what no limit of the kernel's holds

GREEDY = {
    "memory": (MEMORY, "kept = b'x' * 100_000_000"),
    "shared memory": (MEMORY, "import mmap; kept = mmap.mmap(-1, 10**8); kept.write(b'x' * 10**8)"),
    "threads": (PROCESSES, "import threading\nfor _ in range(40): threading.Thread(target=input).start()"),
    "processes": (PROCESSES, "import os\nfor _ in range(5): os.fork()"),
    "modest": ("", "kept = b'x' * 10_000_000"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize("what", GREEDY)
def test_the_watch_sees(what: str, tmp_path: Path) -> None:
    breach, code = GREEDY[what]
    limits = WorkerLimits(memory_bytes=50 * MIB, processes=20)
    command = [sys.executable, "-c", f"{code}\nprint('ready', flush=True)\ninput()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        watch = Watch(process.pid, limits, tmp_path, has_family=True, _at_fork=0)
        assert wait_until(lambda: watch.breach() == breach, 3)
        process.stdin.close()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("make", "full"),
    [
        (lambda folder: None, False),
        (lambda folder: (folder / "a").write_bytes(b"x" * MIB), False),
        (lambda folder: (folder / "a").write_bytes(b"x" * 3 * MIB), True),
        (lambda folder: [(folder / str(n)).touch() for n in range(101)], True),
        (lambda folder: (folder / "/".join("abcdefgh" * 6)).mkdir(parents=True), True),
        (lambda folder: (folder / "link").symlink_to("/"), False),
    ],
    ids=["empty", "small", "large", "many", "deep", "link"],
)
def test_a_full_scratch_is_seen(tmp_path: Path, make: Callable[[Path], object], full: bool) -> None:
    make(tmp_path)
    assert is_full(tmp_path, WorkerLimits(scratch_bytes=2 * MIB, scratch_entries=100)) is full


def test_a_stage_is_removed_whatever_was_done_to_it() -> None:
    stage = Stage.put_up(None, {"part/answer.py": b""})
    nested = stage.scratch / "shut" / "in"
    nested.mkdir(parents=True)
    (nested / "file").touch()
    here = os.getcwd()
    os.chdir(nested)
    for _ in range(1500):
        os.mkdir("deeper")
        os.chdir("deeper")
    os.chdir(here)
    nested.parent.chmod(0)
    stage.remove()
    assert not stage.folder.exists()


def test_a_stage_that_is_removed_twice_leaves_the_others_open(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    stage = Stage.put_up(tmp_path, {})
    for _ in range(2):
        stage.remove()
    assert tmp_path.stat().st_mode & 0o777 == 0o711
