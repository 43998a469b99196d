"""A class whose grader is killed again and again ends with the results of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.grader.project import (
    FILES,
    ROOT,
    Project,
    copied,
    hand_in,
    journal,
    kill_group,
    results,
    verdicts,
    wait_until,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it needs process groups and /proc")

SELF = (ROOT / "solutions/self_attention.py").read_text()
SIZE = 60
# how many of the 25 kills come at which moment
EARLY, WRITING, END = 12, 10, 3
START_SECONDS = 4.5  # from the command to its first result, about


def make_class(folder: Path) -> Path:
    """Sixty submissions of ten kinds."""
    kinds: list[Callable[[Path], object]] = [
        hand_in,
        lambda to: hand_in(to, ROOT / "exercises"),
        lambda to: hand_in(to, self_attention=SELF.replace("mask == 0", "mask == 1")),
        lambda to: hand_in(to, self_attention=SELF.replace(" / math.sqrt(self.d_k)", "")),
        lambda to: hand_in(to, cross_attention="class CrossAttention(:\n"),
        lambda to: hand_in(to, multi_head_attention=None),
        lambda to: hand_in(to, self_attention=f"print('x' * 300_000)\n{SELF}"),
        lambda to: hand_in(to, self_attention=f"import os\nos._exit(0)\n{SELF}"),
        zipped,
        notebook,
    ]
    for number in range(SIZE):
        kinds[number % len(kinds)](folder / f"s{number:02}")
    return folder


def zipped(to: Path) -> None:
    with zipfile.ZipFile(to.with_suffix(".zip"), "w") as archive:
        for name in FILES:
            archive.write(ROOT / "solutions" / name, name)


def notebook(to: Path) -> None:
    cell = {"cell_type": "code", "source": SELF, "metadata": {}, "outputs": [], "execution_count": None}
    document = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    to.with_suffix(".ipynb").write_text(json.dumps(document))


@dataclass(frozen=True)
class Killed:
    """What is left of a run that was killed at each of ``moments`` and then finished."""

    project: Project
    out: Path
    seed: int
    moments: list[str]
    temporary: Path

    def __str__(self) -> str:
        return f"HEADSTART_KILL_SEED={self.seed}, killed at: {'; '.join(self.moments)}"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copied(tmp_path_factory.mktemp("killed") / "root")


@pytest.fixture(scope="module")
def submissions(project: Project) -> Path:
    return make_class(project.root / "class")


@pytest.fixture(scope="module")
def undisturbed(project: Project, submissions: Path) -> Path:
    out = project.root / "undisturbed"
    ran = project.run("grade", submissions, "--out", out, "--jobs", "2", "--seed", "5")
    assert ran.status == 0, ran.both
    return out


@pytest.fixture(scope="module")
def killed(project: Project, submissions: Path, undisturbed: Path) -> Killed:
    seed = int(os.environ.get("HEADSTART_KILL_SEED") or random.SystemRandom().randrange(2**31))
    temporary = Path(
        tempfile.mkdtemp(prefix="killed-", dir=project.root)
    )  # so that what is left there is ours
    run = Killed(project, project.root / "out", seed, [], temporary)
    options = ("grade", submissions, "--out", run.out, "--jobs", "2", "--resume", "--seed", "5")
    draw = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        for moment in moments(draw):
            kill_at(moment, project.start(*options), run, draw)
        ended = project.run(*options)
    assert ended.status == 0, f"{run}\n{ended.both}"
    return run


def moments(draw: random.Random) -> list[str]:
    """Those while it starts and while it writes, mixed; then those at the end."""
    mixed = ["early"] * EARLY + ["writing"] * WRITING
    draw.shuffle(mixed)
    return mixed + ["end"] * END


def kill_at(moment: str, grader: subprocess.Popen[bytes], run: Killed, draw: random.Random) -> None:
    """Kill while it starts, as it writes, or around its last submission and scores.csv."""
    before = count(run.out)
    if moment == "early":
        seconds = draw.uniform(0.0, START_SECONDS)
        wait_until(lambda: grader.poll() is not None, seconds)
        run.moments.append(f"{seconds:.2f} s")
    else:
        # every kill at a writing moment leaves the next some submissions to write
        wanted = SIZE if moment == "end" else min(before + draw.choice([1, 1, 2, 4, 6]), SIZE - 1)
        delay = draw.uniform(0.0, 0.06)
        watch(lambda: grader.poll() is not None or count(run.out) >= wanted)
        time.sleep(delay)
        run.moments.append(f"result {wanted} + {delay * 1000:.1f} ms")
    kill_group(grader)
    assert count(run.out) >= before, run
    assert run.project.is_quiet(), (str(run), run.project.processes())


def watch(holds: Callable[[], bool]) -> None:
    """Wait until it holds, looking more often than a journal line is written."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.0005)


def count(out: Path) -> int:
    """Whole lines in the journal."""
    file = out / "journal.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def test_the_results_are_those_of_an_undisturbed_run(killed: Killed, undisturbed: Path) -> None:
    assert len(killed.moments) == 25
    assert verdicts(killed.out) == verdicts(undisturbed), killed
    assert (killed.out / "scores.csv").read_text() == (undisturbed / "scores.csv").read_text(), killed


def test_no_submission_is_lost_or_graded_twice(killed: Killed) -> None:
    lines = Counter(line["submission"] for line in journal(killed.out))
    assert len(lines) == SIZE, killed
    assert set(lines.values()) == {1}, killed
    assert {line["submission"]: line for line in journal(killed.out)} == results(killed.out), killed


def test_no_half_written_file_and_nothing_else_is_left(killed: Killed, undisturbed: Path) -> None:
    assert files(killed.out) == files(undisturbed), killed
    assert list(killed.temporary.iterdir()) == [], killed
    assert killed.project.is_quiet(), killed


def files(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*")}
