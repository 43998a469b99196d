"""``regrade`` as an instructor runs it: a test is mended, and it is told whose score changed and why."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.grader.disks import disk, needs_root
from tests.grader.project import (
    ROOT,
    SMALL_SUITE,
    Project,
    Ran,
    copied,
    hand_in,
    journal,
    kill_group,
    points,
    results,
    wait_until,
)

SELF = (ROOT / "solutions/self_attention.py").read_text()
NAMES = ["ann", "bob", "stubs", "unscaled"]
HEAD = "submission,exercise,points,comment\n"
WRONG_SHAPE = "(2, 5, 3, 4)"  # asked for by the test of splitting heads, before it is mended
RIGHT_SHAPE = "(2, 3, 5, 4)"
TEST = "tests/hidden/test_small.py"


@dataclass(frozen=True)
class Graded:
    """A project whose class was graded with a faulty test; a test may change any of it."""

    project: Project

    @property
    def out(self) -> Path:
        return self.project.root / "out"

    @property
    def overrides(self) -> Path:
        return self.out / "overrides.csv"

    def mend(self) -> None:
        self.project.change(TEST, WRONG_SHAPE, RIGHT_SHAPE)

    def regrade(self, *options: str | Path) -> Ran:
        return self.project.run("regrade", "out", "--jobs", "2", *options)

    def resume(self) -> Ran:
        return self.project.run("grade", "class", "--out", "out", "--resume")

    def score(self, name: str) -> float:
        return float(results(self.out)[name]["score"])

    def row(self, name: str) -> dict[str, str]:
        with (self.out / "scores.csv").open(newline="") as file:
            return next(row for row in csv.DictReader(file) if row["submission"] == name)


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Project:
    suite = SMALL_SUITE.replace(RIGHT_SHAPE, WRONG_SHAPE)
    project = copied(tmp_path_factory.mktemp("regrade") / "root", suite=suite)
    for name in NAMES[:2]:
        hand_in(project.root / "class" / name)
    hand_in(project.root / "class/stubs", ROOT / "exercises")
    hand_in(project.root / "class/unscaled", self_attention=SELF.replace(" / math.sqrt(self.d_k)", ""))
    ran = project.run("grade", "class", "--out", "out", "--seed", "5", "--isolation", "process")
    assert ran.status == 0, ran.both
    return project


@pytest.fixture
def graded(master: Project, tmp_path: Path) -> Graded:
    shutil.copytree(master.root, tmp_path / "root")
    record = tmp_path / "root/out/run.json"  # this copy is the one that was graded
    record.write_text(record.read_text().replace(str(master.root), str(tmp_path / "root")))
    return Graded(Project(tmp_path / "root"))


def changed(ran: Ran) -> dict[str, tuple[float | None, float | None, float]]:
    """Of a regrade with --json: whose score changed, from what, to what and by how much."""
    return {
        change["submission"]: (change["before"]["score"], change["after"]["score"], change["difference"])
        for change in ran.document["changed"]
    }


def reasons(ran: Ran, name: str) -> list[dict[str, Any]]:
    (found,) = (change["reasons"] for change in ran.document["changed"] if change["submission"] == name)
    return list(found)


def test_a_mended_test_is_told_with_who_changed_by_how_much_and_why(graded: Graded) -> None:
    before = journal(graded.out)
    graded.mend()
    ran = graded.regrade()
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert [line.split() for line in lines if line.startswith(tuple(NAMES))] == [
        ["ann", "94", "100", "+6"],
        ["bob", "94", "100", "+6"],
        ["unscaled", "74", "80", "+6"],
    ]
    why = "  Splitting heads: test_three_heads, failed -> passed (+6): Three heads get four features each."
    assert lines.count(why) == 3
    assert "3 changed, 1 unchanged" in lines
    suites = [before[0]["suite"], results(graded.out)["ann"]["suite"]]
    assert f"4 graded again; suite {suites[0][:12]} -> {suites[1][:12]}" in lines
    after = journal(graded.out)
    assert after[: len(before)] == before
    assert sorted(line["submission"] for line in after[len(before) :]) == NAMES
    environments = [result["environment"] for result in results(graded.out).values()]
    assert {(e["seed"], e["isolation"]) for e in environments} == {(5, "process")}
    assert graded.row("ann")["score"] == "100"


def test_the_comparison_is_one_document_for_programs(graded: Graded) -> None:
    graded.mend()
    ran = graded.regrade("--json")
    assert ran.document == json.loads((graded.out / "changes.json").read_text())
    assert changed(ran) == {"ann": (94, 100, 6), "bob": (94, 100, 6), "unscaled": (74, 80, 6)}
    (reason,) = reasons(ran, "ann")
    assert (reason["test"], reason["before"], reason["after"]) == (
        f"{TEST}::test_three_heads",
        "failed",
        "passed",
    )
    again = graded.regrade("--json")  # with nothing changed, nothing is to be done
    assert (changed(again), again.document["graded"], again.document["unchanged"]) == ({}, 0, 4)


def test_other_points_for_the_same_answers_are_told(graded: Graded) -> None:
    for layer, worth in (("SelfAttention", 28), ("CrossAttention", 22)):
        defines = f'defines = ["{layer}"]\npoints = '
        graded.project.change("assignment.toml", f"{defines}25", f"{defines}{worth}")
    ran = graded.regrade("--json")
    assert [(r["cause"], r["exercise"], r["difference"]) for r in reasons(ran, "ann")] == [
        ("points", "self_attention", 3),
        ("points", "cross_attention", -3),
    ]
    assert changed(ran)["unscaled"] == (74, 71, -3)


# --- decisions by hand ----------------------------------------------------------------------------


def test_a_decision_counts_wherever_results_are_written_and_outlives_every_run(graded: Graded) -> None:
    graded.overrides.write_text(f"{HEAD}unscaled,self_attention,20.5,explained it at the board\n")
    resumed = graded.resume()
    assert resumed.status == 0
    assert "Self-attention 20.5 by hand" in resumed.out
    assert graded.score("unscaled") == 89.5
    graded.mend()
    ran = graded.regrade("--json")
    assert changed(ran)["unscaled"] == (89.5, 95.5, 6)
    (exercise,) = (e for e in results(graded.out)["unscaled"]["exercises"] if e["name"] == "self_attention")
    assert exercise["score"] == 20.5
    assert exercise["override"] == {"suite_score": 5, "comment": "explained it at the board"}
    row = graded.row("unscaled")
    assert (row["score"], row["self_attention"]) == ("95.5", "20.5")
    assert row["overrides"] == "self_attention 20.5 by hand, the tests gave 5: explained it at the board"
    assert {
        points(line)["self_attention"] for line in journal(graded.out) if line["submission"] == "unscaled"
    } == {5}
    assert graded.overrides.read_text() == f"{HEAD}unscaled,self_attention,20.5,explained it at the board\n"


def test_a_decision_added_changed_or_removed_is_told_as_the_reason(graded: Graded) -> None:
    told = []
    for rows in ("ann,split_heads,9,generous\n", "ann,split_heads,8.5,less so\n", ""):
        graded.overrides.write_text(HEAD + rows)
        ran = graded.regrade("--json")
        assert ran.document["graded"] == 0  # the tests are as they were
        told += [(changed(ran), [(r["before"], r["after"], r["words"]) for r in reasons(ran, "ann")])]
    assert told == [
        ({"ann": (94, 99, 5)}, [("", 9, "generous")]),
        ({"ann": (99, 98.5, -0.5)}, [(9, 8.5, "less so")]),
        ({"ann": (98.5, 94, -4.5)}, [(8.5, "", "less so")]),
    ]
    assert graded.row("ann")["overrides"] == ""
    assert results(graded.out)["ann"] == next(
        line for line in journal(graded.out) if line["submission"] == "ann"
    )


@pytest.mark.parametrize(
    "command",
    [("regrade", "out"), ("grade", "class", "--out", "out"), ("grade", "class", "--out", "out", "--resume")],
    ids=" ".join,
)
def test_a_slip_in_a_decision_stops_before_anything_is_graded(
    graded: Graded, command: tuple[str, ...]
) -> None:
    graded.mend()
    graded.overrides.write_text(f"{HEAD}anm,split_heads,11,\n")
    before = {file: file.read_bytes() for file in graded.out.rglob("*") if file.is_file()}
    ran = graded.project.run(*command)
    assert ran.status == 2
    assert "line 2: there is no submission 'anm' here: did you mean ann?" in ran.err
    assert "line 2: the points 11 are more than split_heads is worth: give a number from 0 to 10" in ran.err
    assert {file: file.read_bytes() for file in graded.out.rglob("*") if file.is_file()} == before


# --- killed, moved, gone, faulty ------------------------------------------------------------------


def test_a_killed_regrade_goes_on_and_compares_with_before_it_began(graded: Graded) -> None:
    graded.overrides.write_text(f"{HEAD}bob,split_heads,9,\n")
    assert graded.resume().status == 0
    graded.overrides.unlink()
    graded.mend()
    run = graded.project.start("regrade", "out", "--jobs", "1")
    assert wait_until(lambda: len(journal_lines(graded.out)) >= len(NAMES) + 2, 60)
    kill_group(run)
    assert graded.project.is_quiet()
    ran = graded.regrade("--json")
    assert ran.status == 0
    assert changed(ran) == {"ann": (94, 100, 6), "bob": (99, 100, 1), "unscaled": (74, 80, 6)}
    assert ran.document["graded"] in (1, 2)
    assert len(journal(graded.out)) == 2 * len(NAMES)
    assert not (graded.out / "regrade.json").exists()


@needs_root
def test_on_a_full_disk_a_regrade_loses_nothing_and_goes_on(graded: Graded, tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as small:
        out = small.path / "out"
        shutil.copytree(graded.out, out)
        before = results(out)
        small.fill(leave=8_000)  # enough to begin, too little for a result
        graded.mend()
        full = graded.project.run("regrade", out)
        assert full.status == 1
        assert "cannot be written: No space left on device. What was finished is kept: make room" in full.err
        assert results(out) == before
        small.make_room()
        ran = graded.project.run("regrade", out, "--json")
    assert changed(ran) == {"ann": (94, 100, 6), "bob": (94, 100, 6), "unscaled": (74, 80, 6)}


def journal_lines(out: Path) -> list[bytes]:
    return (out / "journal.jsonl").read_bytes().split(b"\n")[:-1]


def test_submissions_that_moved_are_asked_for_and_then_known(graded: Graded) -> None:
    moved = graded.project.root / "elsewhere"
    (graded.project.root / "class").rename(moved)
    lost = graded.regrade()
    assert lost.status == 2
    assert "no longer at" in lost.err
    assert "--submissions" in lost.err
    (graded.project.root / "empty/nobody").mkdir(parents=True)
    wrong = graded.regrade("--submissions", "empty")
    assert wrong.status == 2
    assert "none of the 4 submissions is in empty" in wrong.err
    graded.mend()
    assert len(changed(graded.regrade("--submissions", moved, "--json"))) == 3
    assert graded.regrade().status == 0


def test_who_is_gone_keeps_the_result_and_who_is_new_is_named(graded: Graded) -> None:
    (graded.project.root / "class/bob").rename(graded.project.root / "class/cem")
    graded.mend()
    ran = graded.regrade()
    assert ran.status == 0
    assert "bob is no longer in" in ran.err
    assert "Not graded, since there is no result of it yet: cem." in ran.err
    assert (graded.score("bob"), graded.score("ann"), "cem" in results(graded.out)) == (94, 100, False)


def test_a_fault_of_ours_takes_no_result_away_and_is_mended_by_another_regrade(graded: Graded) -> None:
    graded.project.change(TEST, "    x = layer.draw.normal(2, 5, 12)", "    x = len(7)")
    graded.overrides.write_text(f"{HEAD}stubs,split_heads,1,for the effort\n")
    before = results(graded.out)
    broken = graded.regrade()
    assert broken.status == 1
    assert "could not be graded again, by a fault of ours" in broken.err
    assert "ann: tests/hidden/test_small.py::test_three_heads[split_heads] could not be run" in broken.err
    assert "x = len(7)" in (graded.out / "faults.log").read_text()
    assert results(graded.out)["ann"] == before["ann"]
    assert graded.row("ann")["score"] == "94"
    graded.project.change(TEST, "    x = len(7)", "    x = layer.draw.normal(2, 5, 12)")
    graded.mend()
    ran = graded.regrade("--json")
    mended = {"ann": (94, 100, 6), "bob": (94, 100, 6), "unscaled": (74, 80, 6)}
    assert changed(ran) == {**mended, "stubs": (0, 1, 1)}  # with before the first of the two


def test_another_source_is_told(graded: Graded) -> None:
    shutil.copytree(
        graded.project.root / "class/ann", graded.project.root / "class/unscaled", dirs_exist_ok=True
    )
    ran = graded.regrade()
    assert "the submission itself is another one now" in ran.out
    assert "1 graded again" in ran.out
    assert graded.score("unscaled") == 94


def test_one_submission_alone_can_be_graded_again(graded: Graded) -> None:
    assert graded.regrade("--only", "bob").status == 0
    assert [line["submission"] for line in journal(graded.out)[len(NAMES) :]] == ["bob"]
    unknown = graded.regrade("--only", "bop")
    assert unknown.status == 2
    assert "no results of --only 'bop'. Did you mean bob?" in unknown.err


def test_a_folder_without_a_run_is_refused_and_left_alone(graded: Graded) -> None:
    ran = graded.project.run("regrade", "nowhere")
    assert ran.status == 2
    assert "nowhere holds no run to grade again, run.json is missing" in ran.err
    assert not (graded.project.root / "nowhere").exists()
