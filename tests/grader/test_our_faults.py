"""What this machine or installation lacks is said, costs no points, and is made good by resuming."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grader.disks import needs_root
from tests.grader.project import (
    ROOT,
    Project,
    copied,
    environment,
    hand_in,
    journal,
    results,
    verdicts,
    wait_until,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="there is a host on Linux only")
NAMES = ["ann", "bob", "cem", "dee"]
SLOW = f"import time\ntime.sleep(2)\n{(ROOT / 'solutions/self_attention.py').read_text()}"
NOBODY = 65534


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """Where any user may read it."""
    folder = Path(tempfile.mkdtemp(prefix="our-faults-"))
    folder.chmod(0o755)
    try:
        yield copied(folder / "root")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def submissions(project: Project) -> Path:
    for name in NAMES:
        hand_in(project.root / "class" / name)
    return project.root / "class"


@pytest.fixture(scope="module")
def undisturbed(project: Project, submissions: Path) -> Path:
    out = project.root / "undisturbed"
    assert project.run("grade", submissions, "--out", out, "--seed", "5").status == 0
    return out


def finishes(project: Project, submissions: Path, out: Path, undisturbed: Path) -> str:
    """Resumed, the run ends with the results of one that nothing disturbed; what was said about it."""
    ran = project.run("grade", submissions, "--out", out, "--seed", "5", "--resume")
    assert ran.status == 0, ran.both
    assert verdicts(out) == verdicts(undisturbed)
    assert (out / "scores.csv").read_text() == (undisturbed / "scores.csv").read_text()
    return ran.err


# --- the installation -----------------------------------------------------------------------------


def test_a_missing_package_is_named_with_how_to_install_it(project: Project, submissions: Path) -> None:
    missing = project.root / "safetensors.py"
    missing.write_text("raise ModuleNotFoundError(\"No module named 'safetensors'\", name='safetensors')")
    try:
        ran = project.run("grade", submissions, "--out", project.root / "missing")
    finally:
        missing.unlink()
    assert ran.status == 1
    assert f"The Python package safetensors is missing from {sys.prefix}" in ran.err
    assert "-m pip install -r requirements.txt" in ran.err
    assert "Traceback" not in ran.both
    assert not (project.root / "missing").exists()


@linux
def test_a_host_that_does_not_start_grades_nobody(
    project: Project, submissions: Path, tmp_path: Path, undisturbed: Path
) -> None:
    start, broken = "    worker.die_with_parent()\n", "    import nothing_of_that_name\n"
    project.change("grader/sandbox/host.py", start, broken)
    try:
        ran = project.run("grade", submissions, "--out", tmp_path, "--seed", "5")
    finally:
        project.change("grader/sandbox/host.py", broken, start)
    assert ran.status == 1
    assert "No module named 'nothing_of_that_name'" in ran.err
    assert "The host that runs submissions did not start. Its own words, if any, stand above" in ran.err
    assert not (tmp_path / "scores.csv").exists()
    finishes(project, submissions, tmp_path, undisturbed)


@linux
def test_a_wall_that_cannot_be_put_up_costs_no_points(
    project: Project, submissions: Path, tmp_path: Path, undisturbed: Path
) -> None:
    put_up, refused = "        give_up(rules, stage)\n", "        raise OSError('the kernel refused')\n"
    project.change("grader/sandbox/worker.py", put_up, refused)
    try:
        ran = project.run("grade", submissions, "--out", tmp_path, "--seed", "5", "--isolation", "process")
    finally:
        project.change("grader/sandbox/worker.py", refused, put_up)
    assert ran.status == 1
    assert "4 could not be graded, by a fault of ours: ann, bob, cem, dee" in ran.err
    assert ran.err.count("A worker started but did not get ready: OSError: the kernel refused") == 4
    assert {result["status"] for result in results(tmp_path).values()} == {"infrastructure_error"}
    assert (tmp_path / "scores.csv").read_text().count(",infrastructure_error,,100,,") == 4
    finishes(project, submissions, tmp_path, undisturbed)


# --- the machine ----------------------------------------------------------------------------------


@needs_root
def test_no_more_processes_cost_no_points(project: Project, undisturbed: Path) -> None:
    out, submissions = Path(tempfile.mkdtemp(dir=project.root)), project.root / "slow"
    os.chown(out, NOBODY, NOBODY)
    hand_in(submissions / NAMES[0])  # is through long before there is room for the last
    for name in NAMES[1:]:
        hand_in(submissions / name, self_attention=SLOW)
    grading = as_nobody(project, "grade", submissions, "--out", out, "--seed", "5", "--jobs", "2")
    assert wait_until(lambda: len(journal(out)) >= 1, 60)
    allow_no_more_processes(grading.pid)
    _, told = grading.communicate(timeout=60)
    assert grading.returncode == 1, told
    assert "No examiner could be started: [Errno 11] Resource temporarily unavailable" in told
    statuses = [result["status"] for result in results(out).values()]
    assert len(statuses) == len(NAMES)
    assert 0 < statuses.count("graded") < len(NAMES)
    assert project.run("grade", submissions, "--out", out, "--resume").status == 0
    assert (out / "scores.csv").read_text() == (undisturbed / "scores.csv").read_text()


def allow_no_more_processes(pid: int) -> None:
    """To a process of nobody's, which nobody alone may tell; in a fork: an interpreter starts too late."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            resource.prlimit(pid, resource.RLIMIT_NPROC, (1, 1))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def nobody() -> list[str]:
    """The start of a command that runs without rights, but to read: the interpreter may be root's own."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not installed")
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *reading]


def as_nobody(project: Project, *arguments: str | Path) -> subprocess.Popen[str]:
    """``python -m grader ...`` as a user without rights."""
    return subprocess.Popen(
        [*nobody(), sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=project.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# --- the journal ----------------------------------------------------------------------------------


@pytest.fixture
def out(undisturbed: Path, tmp_path: Path) -> Path:
    """A finished run, whose files a test may spoil."""
    return Path(shutil.copytree(undisturbed, tmp_path / "out"))


def test_a_damaged_journal_is_told_line_by_line_and_made_good(
    project: Project, submissions: Path, out: Path, undisturbed: Path
) -> None:
    file = out / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    garbage = b"\0garbage {\n"
    later = lines[2].replace(b'"headstart/result/v1"', b'"headstart/result/v9"')
    file.write_bytes(lines[0] + garbage + later + lines[3][:200])
    told = " ".join(finishes(project, submissions, out, undisturbed).split())
    assert "Line 2 of" in told
    assert "Line 3 of" in told
    assert "headstart/result/v1" in told  # what it should have been
    assert "was cut short (200 bytes), so it was removed. That submission will be graded again." in told
    assert file.read_bytes().startswith(lines[0] + garbage + later)
    assert len(file.read_bytes().splitlines()) == 6  # what was there, and three graded again


def test_an_empty_journal_is_no_result(
    project: Project, submissions: Path, out: Path, undisturbed: Path
) -> None:
    (out / "journal.jsonl").write_bytes(b"")
    finishes(project, submissions, out, undisturbed)
    assert len(journal(out)) == len(NAMES)


def test_a_folder_in_the_place_of_the_journal_is_refused(
    project: Project, submissions: Path, out: Path
) -> None:
    (out / "journal.jsonl").unlink()
    (out / "journal.jsonl").mkdir()
    ran = project.run("grade", submissions, "--out", out, "--resume")
    assert ran.status == 2
    assert f"{out / 'journal.jsonl'} cannot be written: Is a directory. Something else has that" in ran.err
    assert "Traceback" not in ran.both


@needs_root
def test_a_journal_of_another_user_is_refused(project: Project, submissions: Path) -> None:
    out = Path(tempfile.mkdtemp(dir=project.root))
    out.chmod(0o777)
    (out / "journal.jsonl").touch(0o600)
    grading = as_nobody(project, "grade", submissions, "--out", out, "--resume")
    _, told = grading.communicate(timeout=60)
    assert grading.returncode == 2
    assert "journal.jsonl cannot be written: Permission denied. Give an --out folder that you may" in told


# --- where the results go -------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "results", "ann/results"])
def test_results_among_the_submissions_are_refused(project: Project, submissions: Path, inside: str) -> None:
    before = sorted(submissions.rglob("*"))
    ran = project.run("grade", submissions, "--out", submissions / inside)
    assert ran.status == 2
    assert "so that its results would be taken for a submission. Give an --out folder outside" in ran.err
    assert sorted(submissions.rglob("*")) == before
