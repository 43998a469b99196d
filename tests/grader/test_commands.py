"""Exit statuses, refusals, and ``verify``: what a CI job and a careful instructor rely on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.grader.project import ROOT, SMALL_SUITE, Project, Ran, copied, environment, hand_in

COMMANDS = (
    "check",
    "hint",
    "doctor",
    "grade",
    "regrade",
    "export",
    "verify",
    "attack",
    "release",
    "generate",
)
LEVELS = ["none", "process", "confined", "namespaced"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copied(tmp_path_factory.mktemp("commands") / "root")
    hand_in(project.root / "class/stubs", ROOT / "exercises")
    (project.root / "file").write_text("in the way")
    return project


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_how_it_is_used(project: Project, command: str) -> None:
    ran = project.run(command, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"Usage: python -m grader {command}")
    assert ran.out.count("\n") > 6


def test_the_overview_lists_every_command(project: Project) -> None:
    ran = project.run("--help")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.split("Commands:\n")[1].splitlines()] == list(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("class",), "Missing option '--out'"),
        (("class", "--out", "x", "--jobs", "0"), "Invalid value for '--jobs'"),
        (("nowhere", "--out", "x"), "nowhere"),
        (("class", "--out", "x", "--shard", "4/3"), "'4/3'"),
        (("class", "--out", "x", "--require-isolation", "total"), "none, process, confined, namespaced"),
        (("class", "--out", "file"), "file"),
    ],
)
def test_bad_usage_is_refused_with_status_2(project: Project, arguments: list[str], words: str) -> None:
    ran = project.run("grade", *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not (project.root / "x/submissions").exists()


def test_isolation_that_is_not_to_be_had_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # there is no bubblewrap
    offered = project.run("doctor", "--json").document["isolation level"].split()[0]
    above = LEVELS[LEVELS.index(offered) + 1 :]
    ran = project.run("grade", "class", "--out", "y", "--require-isolation", above[0])
    assert ran.status == 2
    assert f"isolation {above[0]} was asked for, and this machine offers {offered}" in ran.err
    assert not (project.root / "y").exists()


def test_a_lower_level_can_be_chosen_and_is_recorded(project: Project, tmp_path: Path) -> None:
    ran = project.run("grade", "solutions", "--out", tmp_path, "--isolation", "process", "--json")
    assert ran.status == 0
    assert [result["environment"]["isolation"] for result in ran.document] == ["process"]


def test_an_environment_behind_a_link_offers_the_same_levels(project: Project, tmp_path: Path) -> None:
    plain, linked = Path(sys.prefix).resolve(), tmp_path / "environment"
    linked.symlink_to(plain)
    levels = []
    for prefix in (plain, linked):
        doctor = [prefix / "bin" / "python", "-m", "grader", "doctor", "--json"]
        told = subprocess.run(doctor, cwd=project.root, capture_output=True, env=environment(), check=True)
        levels.append(json.loads(told.stdout)["isolation level"])
    assert levels[0] == levels[1]


def test_doctor_says_why_a_level_is_not_offered(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    told = project.run("doctor", "--json").document["levels not offered"]
    assert "namespaced: " in told
    assert (
        told.endswith("not installed (the Debian package bubblewrap; its program: bwrap)")
        or "confined" in told
    )


def checks(ran: Ran) -> dict[str, tuple[bool, str]]:
    """Of ``verify --json``: each check's name, whether it holds and what was seen."""
    return {check["name"]: (check["holds"], check["seen"]) for check in ran.document["checks"]}


# --- a suite that is at fault ---------------------------------------------------------------------

NO_TEST_OF_IT = SMALL_SUITE[: SMALL_SUITE.index('@aspect("shapes"')]


@pytest.mark.parametrize(
    ("suite", "words", "check"),
    [
        ("import nothing_of_that_name\n", "No module named 'nothing_of_that_name'", "suite"),
        (NO_TEST_OF_IT, "split_heads: all its tests make 4 points, they should make 10", "points add up"),
    ],
    ids=["does not collect", "points do not add up"],
)
def test_a_faulty_suite_grades_nobody(tmp_path: Path, suite: str, words: str, check: str) -> None:
    project, out = copied(tmp_path / "root", suite=suite), tmp_path / "out"
    ran = project.run("grade", "samples/class/s03-untouched", "--out", out)
    assert ran.status == 1
    assert words in ran.err
    assert sorted(path.name for path in out.iterdir()) == ["journal.jsonl", "run.json"]
    assert (out / "journal.jsonl").read_text() == ""
    verified = project.run("verify", "--json")
    assert verified.status == 1
    assert words in checks(verified)[check][1]


# --- verify ---------------------------------------------------------------------------------------


def test_a_project_that_is_fit_to_publish(project: Project) -> None:
    ran = project.run("verify")
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["ok"] * 7
    assert lines[-1] == "fit to publish"
    assert lines[5].endswith("100 of 100")
    assert "0 of 100, 0 of 18 tests pass" in lines[6]


UNRELATED_BLOCK = """

def nothing():
    ### BEGIN SOLUTION: Return nothing.
    return None
    ### END SOLUTION
"""


@pytest.fixture(scope="module")
def unfit(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """``verify --json`` on a project with a fault of nearly every kind."""
    project = copied(tmp_path_factory.mktemp("unfit") / "root")
    answer = "return x.reshape(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)"
    project.change("solutions/README.md", "## Heads, and", f"    {answer}\n\n## Heads, and")
    project.change("solutions/self_attention.py", "mask == 0", "mask == 1")
    project.change("solutions/hints/cross_attention.md", "## Hint 3", "### Another")
    file = project.root / "solutions/cross_attention.py"
    solved = [line for line in file.read_text().splitlines(keepends=True) if "###" not in line]
    file.write_text("".join(solved) + UNRELATED_BLOCK)
    generated = project.run("generate", "--force")
    assert generated.status == 0, generated.both
    return project.run("verify", "--json")


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("hints", "cross_attention.md"),
        ("leaks", "exercises/README.md"),
        ("solutions", "the first loss is tests/public/test_attention.py::test_blocked_positions"),
        ("stubs", "25 of 100"),
    ],
)
def test_what_is_unfit_is_named(unfit: Ran, check: str, words: str) -> None:
    assert unfit.status == 1
    assert unfit.document["fit"] is False
    holds, seen = checks(unfit)[check]
    assert not holds
    assert words in seen


def test_a_bug_of_ours_is_no_bad_usage(tmp_path: Path) -> None:
    """One sentence and exit status 1; the traceback is in a file, not on the screen."""
    broken = copied(tmp_path / "broken")
    broken.change("grader/run/grading.py", "    index, count = options.shard\n", "    int('a bug')\n")
    ran = broken.run("grade", broken.root / "solutions", "--out", tmp_path / "out")
    assert ran.status == 1
    assert "which is not your doing (ValueError: invalid literal" in ran.err
    assert "Traceback" not in ran.err
    log = Path(ran.err.split("account is in ")[1].split(";")[0])
    assert "Traceback" in log.read_text()
    log.unlink()
