"""What of ours dies while a class is graded: it costs no points, and no more submissions than it must."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a host on Linux only")

SELF = (ROOT / "solutions/self_attention.py").read_text()
SLOW = f"import time\ntime.sleep(0.7)\n{SELF}"  # long enough to be met at work
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copied(tmp_path_factory.mktemp("dead") / "root")


@pytest.fixture(scope="module")
def submissions(project: Project) -> Path:
    for name in NAMES:
        hand_in(project.root / "class" / name, self_attention=SLOW)
    return project.root / "class"


@pytest.fixture(scope="module")
def undisturbed(project: Project, submissions: Path) -> Path:
    out = project.root / "undisturbed"
    ran = project.run("grade", submissions, "--out", out, "--seed", "5", "--jobs", "2")
    assert (ran.status, ran.err.count("fresh one")) == (0, 0)
    return out


@pytest.fixture
def grading(project: Project, submissions: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The class while it is graded, two at a time, into ``tmp_path``."""
    command = [sys.executable, "-m", "grader", "grade", submissions, "--out", tmp_path, "--jobs", "2"]
    with subprocess.Popen(
        [*map(str, command), "--seed", "5"],
        cwd=project.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def hosts(project: Project) -> list[psutil.Process]:
    """The host: an interpreter that another program has started with ``host.main``; workers are its forks."""
    return [
        process for process in project.processes() if _is_host(process) and not _is_host(process.parent())
    ]


def _is_host(process: psutil.Process | None) -> bool:
    command = _command(process)
    return command[:1] == [sys.executable] and "host.main(" in command[-1]


def _command(process: psutil.Process | None) -> list[str]:
    try:
        return list(process.cmdline()) if process is not None else []
    except psutil.Error:  # it has just ended
        return []


def is_at_work(host: psutil.Process) -> bool:
    """Whether some submission has a worker there: a child whose working folder is a scratch of ours."""
    try:
        return any("headstart-" in child.cwd() for child in host.children())
    except psutil.Error:
        return False


def examiners(grading: subprocess.Popen[str]) -> list[psutil.Process]:
    """The forks of the command, oldest first; what else it started goes by another name."""
    command = psutil.Process(grading.pid)
    forks = [child for child in command.children() if _command(child) == command.cmdline()]
    return sorted(forks, key=lambda fork: fork.create_time())


def resumed(project: Project, submissions: Path, out: Path, undisturbed: Path) -> list[str]:
    """Resume to the results of an undisturbed run; which submissions were graded by that."""
    before = len(journal(out))
    ran = project.run("grade", submissions, "--out", out, "--jobs", "2", "--resume")
    assert ran.status == 0, ran.both
    assert verdicts(out) == verdicts(undisturbed)
    assert (out / "scores.csv").read_text() == (undisturbed / "scores.csv").read_text()
    return sorted(line["submission"] for line in journal(out)[before:])


def with_status(out: Path, status: str) -> list[str]:
    return sorted(name for name, result in results(out).items() if result["status"] == status)


def test_a_host_that_is_killed_is_replaced_and_nothing_is_lost(
    project: Project, grading: subprocess.Popen[str], tmp_path: Path, undisturbed: Path
) -> None:
    assert wait_until(lambda: len(journal(tmp_path)) >= 1 and any(map(is_at_work, hosts(project))), 60)
    for host in hosts(project):
        host.kill()
    _, told = grading.communicate(timeout=60)
    assert grading.returncode == 0, told
    assert "The host that runs submissions ended before its time. A fresh one was started" in told
    assert verdicts(tmp_path) == verdicts(undisturbed)
    assert sorted(line["submission"] for line in journal(tmp_path)) == NAMES
    assert project.is_quiet()


def test_hosts_that_are_killed_again_and_again_cost_no_points(
    project: Project, grading: subprocess.Popen[str], tmp_path: Path, submissions: Path, undisturbed: Path
) -> None:
    def kill_every_host() -> None:
        while grading.poll() is None:
            for host in filter(is_at_work, hosts(project)):
                host.kill()
            time.sleep(0.01)

    assert wait_until(lambda: len(journal(tmp_path)) >= 1, 60)
    killer = threading.Thread(target=kill_every_host)
    killer.start()
    _, told = grading.communicate(timeout=120)
    killer.join()
    assert grading.returncode == 1, told
    lost = with_status(tmp_path, "infrastructure_error")
    assert lost, told
    assert f"{len(lost)} could not be graded, by a fault of ours: {', '.join(lost)}" in told
    assert "The host that runs submissions" in told.split("by a fault of ours")[1]
    assert [row.split(",")[2] for row in rows(tmp_path) if row.split(",")[0] in lost] == [""] * len(lost)
    assert resumed(project, submissions, tmp_path, undisturbed) == lost


def rows(out: Path) -> list[str]:
    return (out / "scores.csv").read_text().splitlines()[1:]


def test_a_killed_examiner_is_a_fault_of_ours_in_its_own_submission_only(
    project: Project, grading: subprocess.Popen[str], tmp_path: Path, submissions: Path, undisturbed: Path
) -> None:
    assert wait_until(lambda: len(journal(tmp_path)) >= 1 and bool(examiners(grading)), 60)
    examiners(grading)[-1].kill()  # the youngest: it has not come to its answer
    _, told = grading.communicate(timeout=60)
    assert grading.returncode == 1, told
    assert "The examiner ended before it had a result" in told
    lost = with_status(tmp_path, "infrastructure_error")
    assert len(lost) == 1
    assert resumed(project, submissions, tmp_path, undisturbed) == lost
