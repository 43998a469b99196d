"""A disk that fills up, or cannot be written: a clear word, and nothing that was finished is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grader.disks import Disk, disk, needs_root
from tests.grader.project import (
    ROOT,
    SMALL_SUITE,
    Project,
    copied,
    hand_in,
    hand_in_class,
    journal,
    results,
    verdicts,
    wait_until,
)

pytestmark = needs_root

SELF = (ROOT / "solutions/self_attention.py").read_text()
NAMES = ["a", "b", "c", "stubs", "wrong"]
# of a disk that holds a run: its root, the journal, run.json, submissions/ and, for each, a folder and a file
ALL_RESULTS = 4 + 2 * len(NAMES)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copied(tmp_path_factory.mktemp("disk") / "root")


@pytest.fixture(scope="module")
def submissions(project: Project) -> Path:
    return hand_in_class(project.root / "class", NAMES[:3])


@pytest.fixture(scope="module")
def undisturbed(project: Project, submissions: Path) -> Path:
    out = project.root / "undisturbed"
    assert project.run("grade", submissions, "--out", out, "--seed", "5").status == 0
    return out


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Disk]:
    """An empty disk for results."""
    with disk(tmp_path / "out") as made:
        yield made


def finishes(project: Project, submissions: Path, out: Disk, undisturbed: Path) -> None:
    """Resumed, the run ends with the results of one that nothing disturbed."""
    ran = project.run("grade", submissions, "--out", out.path, "--seed", "5", "--resume")
    assert ran.status == 0, ran.both
    assert verdicts(out.path) == verdicts(undisturbed)
    assert (out.path / "scores.csv").read_text() == (undisturbed / "scores.csv").read_text()
    assert sorted(line["submission"] for line in journal(out.path)) == NAMES
    assert not list(out.path.rglob("*.part"))


def test_a_disk_that_fills_keeps_what_was_finished(
    project: Project, submissions: Path, out: Disk, undisturbed: Path
) -> None:
    out.fill(leave=60_000)
    ran = project.run("grade", submissions, "--out", out.path, "--seed", "5", "--jobs", "2")
    assert ran.status == 1
    assert "cannot be written: No space left on device. What was finished is kept: make room" in ran.err
    assert "Traceback" not in ran.both
    assert 0 < len(journal(out.path)) < len(NAMES)
    out.make_room()
    finishes(project, submissions, out, undisturbed)


@pytest.mark.parametrize(
    ("inodes", "file", "finished"),
    [(7, "submissions/b/result.json", 2), (ALL_RESULTS, "scores.csv", len(NAMES))],
)
def test_whichever_file_does_not_fit_is_named(
    project: Project, submissions: Path, out: Disk, undisturbed: Path, inodes: int, file: str, finished: int
) -> None:
    out.mount_again(f"nr_inodes={inodes}")
    ran = project.run("grade", submissions, "--out", out.path, "--seed", "5", "--jobs", "1")
    assert ran.status == 1
    assert f"{out.path / file} cannot be written: " in ran.err
    assert "make room and run the same command again, `grade` with --resume" in ran.err
    assert "Traceback" not in ran.both
    assert len(journal(out.path)) == finished
    out.mount_again("nr_inodes=1000")
    finishes(project, submissions, out, undisturbed)


def test_no_room_for_the_account_of_a_fault(tmp_path: Path, out: Disk) -> None:
    project = copied(tmp_path / "root", suite=SMALL_SUITE.replace("trial = ", "trial = len(7) or "))
    hand_in(tmp_path / "class/ann")
    out.mount_again("nr_inodes=3")
    ran = project.run("grade", tmp_path / "class", "--out", out.path)
    assert ran.status == 1
    assert f"{out.path / 'faults.log'} cannot be written: No space left on device" in ran.err
    assert journal(out.path) == []


def test_results_are_kept_on_a_disk_that_became_read_only(
    project: Project, submissions: Path, out: Disk, undisturbed: Path
) -> None:
    half = ("--shard", "1/2")
    assert project.run("grade", submissions, "--out", out.path, "--seed", "5", *half).status == 0
    before = journal(out.path)
    out.mount_again("ro")
    for more in ([], ["--resume"]):
        ran = project.run("grade", submissions, "--out", out.path, *more)
        assert ran.status == 2
        assert "journal.jsonl cannot be written: Read-only file system. Give an --out folder that" in ran.err
    assert journal(out.path) == before
    out.mount_again("rw")
    ran = project.run("grade", submissions, "--out", out.path, "--resume")
    assert ran.status == 0
    assert verdicts(out.path) == verdicts(undisturbed)


# --- the folder for temporary files ---------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    with disk(tmp_path / "tmp", "size=40m") as made:
        monkeypatch.setenv("TMPDIR", str(made.path))
        yield made


def test_no_room_for_temporary_files_grades_nobody(
    project: Project, submissions: Path, tmp_path: Path, temporary: Disk
) -> None:
    temporary.fill(leave=2**20)
    ran = project.run("grade", submissions, "--out", tmp_path / "out")
    assert ran.status == 1
    assert f"The folder for temporary files is full: 1 MiB are free in {temporary.path}" in ran.err
    assert "Make room, or name another one in the environment variable TMPDIR" in ran.err
    assert not (tmp_path / "out").exists()


WRITES_ITS_SCRATCH = f"""\
import time
time.sleep(1.5)
with open("notes", "w") as file:
    file.write("x" * 100_000)
{SELF}"""


def test_temporary_files_that_fill_the_disk_cost_no_points(
    project: Project, tmp_path: Path, temporary: Disk
) -> None:
    submissions, out = tmp_path / "class", tmp_path / "out"
    hand_in(submissions / "a")
    hand_in(submissions / "b", self_attention=WRITES_ITS_SCRATCH)
    hand_in(submissions / "c", self_attention=f"{SELF}# {'x' * 200_000}\n")  # more than b leaves free
    grading = project.start("grade", submissions, "--out", out, "--jobs", "1", "--seed", "5")
    assert wait_until(lambda: len(journal(out)) == 1 and any(temporary.path.glob("*/*/scratch")), 60)
    temporary.fill()  # while b is asleep
    assert grading.wait(60) == 1
    statuses = {name: result["status"] for name, result in results(out).items()}
    assert statuses == {"a": "graded", "b": "infrastructure_error", "c": "infrastructure_error"}
    account = (out / "faults.log").read_text()
    assert re.search(r"HostFailed: The folder for temporary files is full: \d+ MiB are free", account)
    assert "[Errno 28] No space left on device" in account
    temporary.make_room()
    ran = project.run("grade", submissions, "--out", out, "--resume", "--json")
    assert ran.status == 0
    assert [result["score"] for result in ran.document] == [100, 100, 100]
    assert list(temporary.path.iterdir()) == []
