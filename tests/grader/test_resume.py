"""A run that was killed, or met a fault of ours, goes on; nothing is lost or counted twice."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.grader.project import (
    ROOT,
    SMALL_SUITE,
    Project,
    copied,
    hand_in,
    hand_in_class,
    journal,
    kill_group,
    replace,
    results,
    verdicts,
    wait_until,
)

SELF = (ROOT / "solutions/self_attention.py").read_text()
EARLIER = '{"of": "an earlier run"}\n'
NAMES = ["a", "b", "c", "d", "stubs", "wrong"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copied(tmp_path_factory.mktemp("resume") / "root")


@pytest.fixture(scope="module")
def submissions(project: Project) -> Path:
    return hand_in_class(project.root / "class", NAMES[:4])


@pytest.fixture(scope="module")
def undisturbed(project: Project, submissions: Path) -> Path:
    out = project.root / "undisturbed"
    out.mkdir()
    (out / "journal.jsonl").write_text(EARLIER)
    assert project.run("grade", submissions, "--out", out, "--jobs", "2", "--seed", "5").status == 0
    return out


def finished(out: Path, number: int) -> Callable[[], bool]:
    return lambda: len(lines_of(out)) >= number


def lines_of(out: Path) -> list[bytes]:
    file = out / "journal.jsonl"
    return file.read_bytes().split(b"\n")[:-1] if file.exists() else []


@pytest.fixture(scope="module")
def killed(project: Project, submissions: Path) -> Path:
    """Killed while its host started, after two submissions and after the last; then finished."""
    out = project.root / "killed"
    moments = [lambda: len(project.processes()) > 1, finished(out, 2), finished(out, len(NAMES))]
    for moment in moments:
        seed = [] if lines_of(out) else ["--seed", "5"]  # once there is a result, the journal knows it
        run = project.start("grade", submissions, "--out", out, "--jobs", "2", "--resume", *seed)
        assert wait_until(moment, 60)
        kill_group(run)
        assert project.is_quiet(), project.processes()
    assert project.run("grade", submissions, "--out", out, "--resume").status == 0
    return out


def test_a_run_killed_again_and_again_ends_with_the_same_results(killed: Path, undisturbed: Path) -> None:
    assert verdicts(killed) == verdicts(undisturbed)
    assert (killed / "scores.csv").read_text() == (undisturbed / "scores.csv").read_text()


def test_no_finished_submission_is_graded_twice(killed: Path) -> None:
    assert sorted(line["submission"] for line in journal(killed)) == NAMES


def test_the_journal_and_the_result_files_agree(killed: Path) -> None:
    assert {line["submission"]: line for line in journal(killed)} == results(killed)


def test_a_killed_run_does_not_leave_its_workers_behind(project: Project) -> None:
    endless = hand_in(project.root / "endless", self_attention=f"while True:\n    pass\n{SELF}")
    run = project.start("grade", endless, "--out", project.root / "endless-graded")
    assert wait_until(lambda: any(_is_busy(process) for process in project.processes()), 60)
    assert len(project.processes()) >= 4  # the command, its examiner, the host, the worker
    kill_group(run)
    assert project.is_quiet(2.5), project.processes()  # before its call would have run out of time


def _is_busy(process: psutil.Process) -> bool:
    """Whether it is the worker: the one whose working folder is a scratch of ours."""
    try:
        return "headstart-" in process.cwd()
    except psutil.Error:
        return False


def resumed(project: Project, submissions: Path, out: Path) -> list[str]:
    """Resume without saying the seed; which submissions were graded by that."""
    before = len(journal(out))
    assert project.run("grade", submissions, "--out", out, "--jobs", "2", "--resume").status == 0
    assert {result["environment"]["seed"] for result in results(out).values()} == {5}
    return sorted(line["submission"] for line in journal(out)[before:])


def test_what_changed_is_graded_again_and_nothing_else(tmp_path: Path, undisturbed: Path) -> None:
    project, out, submissions = copied(tmp_path / "root"), tmp_path / "out", tmp_path / "class"
    shutil.copytree(undisturbed, out)
    shutil.copytree(undisturbed.parent / "class", submissions)
    replace(submissions / "wrong/self_attention.py", "mask == 1", "mask == 0")
    (out / "submissions/a/result.json").unlink()  # as if killed between the journal's line and this file
    assert resumed(project, submissions, out) == ["wrong"]
    assert results(out)["a"]["score"] == 100
    assert results(out)["wrong"]["score"] == 100
    project.change("tests/hidden/test_small.py", "With other numbers", "With numbers")
    assert resumed(project, submissions, out) == NAMES


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--seed", "6"), "was graded with --seed 5, and results of two seeds cannot stand side by side"),
        (("--require-gpu",), "was graded without --require-gpu"),
    ],
    ids=["seed", "gpu"],
)
def test_a_run_goes_on_only_as_it_was_begun(
    undisturbed: Path, project: Project, submissions: Path, option: tuple[str, ...], words: str
) -> None:
    before = {file: file.read_bytes() for file in undisturbed.rglob("*") if file.is_file()}
    ran = project.run("grade", submissions, "--out", undisturbed, "--resume", *option)
    assert ran.status == 2
    assert words in ran.err
    assert f"Leave {' '.join(option)} out to go on" in ran.err
    assert {file: file.read_bytes() for file in undisturbed.rglob("*") if file.is_file()} == before


def test_what_was_begun_with_a_real_accelerator_required_goes_on_so(project: Project, tmp_path: Path) -> None:
    one, out = hand_in(tmp_path / "class/ann").parent, tmp_path / "out"
    assert project.run("grade", one, "--out", out, "--require-gpu").status == 0
    assert project.run("grade", one, "--out", out, "--resume").status == 0
    assert json.loads((out / "run.json").read_text())["require_gpu"] is True


def test_a_fresh_run_keeps_the_old_journal_aside(undisturbed: Path) -> None:
    assert [file.read_text() for file in undisturbed.glob("journal-*.jsonl")] == [EARLIER]
    assert sorted(line["submission"] for line in journal(undisturbed)) == NAMES


def test_a_fresh_run_does_not_pass_earlier_results_for_its_own(project: Project, tmp_path: Path) -> None:
    for name in ("gone", "stays"):
        hand_in(tmp_path / "class" / name, ROOT / "exercises")
    out = tmp_path / "out"
    grade = ("grade", tmp_path / "class", "--out", out)
    assert project.run(*grade).status == 0
    shutil.rmtree(tmp_path / "class/gone")
    assert project.run(*grade).status == 0
    assert set(results(out)) == {"stays"}
    assert [len(list(folder.iterdir())) for folder in out.glob("submissions-*")] == [2]
    assert [file.read_text().count("\ngone,") for file in out.glob("scores-*.csv")] == [1]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project one of whose hidden tests has a bug of ours."""
    base = tmp_path_factory.mktemp("faulty")
    broken = SMALL_SUITE.replace("    x = layer.draw.normal(2, 5, 12)", "    x = len(7)")
    project = copied(base / "root", suite=broken)
    for name in ("ann", "bob"):
        hand_in(base / "class" / name)
    return project


def test_a_fault_of_ours_costs_no_points_and_is_mended_by_resuming(faulty: Project) -> None:
    submissions, out = faulty.root.parent / "class", faulty.root / "out"
    ran = faulty.run("grade", submissions, "--out", out, "--seed", "5")
    assert ran.status == 1
    assert "2 could not be graded, by a fault of ours: ann, bob" in ran.err
    why = "test_three_heads[split_heads] could not be run: TypeError: object of type 'int' has no len()"
    assert ran.err.count(why) == 2
    assert [name in (out / "faults.log").read_text() for name in ("'ann'", "'bob'", why)] == [True] * 3
    for result in results(out).values():
        assert result["status"] == "infrastructure_error"
        said = {result["status_message"], *(test["message"] for test in result["tests"])}
        assert len(said) == 1
        assert "The fault is the grader's, not the student's" in said.pop()
    assert [row["score"] for row in scores(out)] == ["", ""]
    elsewhere = [file for file in out.rglob("*") if file.is_file() and file.name != "faults.log"]
    assert "x = len(7)" in (out / "faults.log").read_text()
    assert not [file for file in elsewhere if "len(" in file.read_text()]

    (faulty.root / "tests/hidden/test_small.py").write_text(SMALL_SUITE)
    assert faulty.run("grade", submissions, "--out", out, "--resume").status == 0
    assert [row["score"] for row in scores(out)] == ["100", "100"]
    assert {result["environment"]["seed"] for result in results(out).values()} == {5}


def scores(out: Path) -> list[dict[str, str]]:
    with (out / "scores.csv").open(newline="") as file:
        return list(csv.DictReader(file))
