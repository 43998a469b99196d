"""The attack corpus at the highest level offered here, and whether its runner sees an attack succeed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, Project, copied

from grader.redteam.corpus import load_attacks
from grader.redteam.promises import load_promises
from grader.sandbox.levels import Level, offered, offers

CASES = ROOT / "tests/cases/attacks"
ATTACKS = load_attacks(CASES)
PLANTED = '''
"""Attacks that succeed: on their neighbours, the machine or the score, with help from outside the wall."""

import os
import signal
import subprocess

from grader.redteam.corpus import FILE, Code, attack
from grader.sandbox.watchdog import children


@attack(says="weights")
def better_than_it_claims(scene):
    """Hands in right code as the wrong code it is said to hide behind."""
    return (scene.root / "solutions" / FILE).read_text()


@attack(odd=True, behind=Code.RIGHT)
def worse_than_it_claims(scene):
    """Hands in code that raises as the right code it is said to be."""
    return scene.in_the_call("raise ValueError('no')")


@attack(says="weights")
def changes_a_neighbour(scene):
    """Changes what a neighbour handed in."""
    (scene.handed_in / "neighbour-right" / FILE).write_text("raise ValueError('changed')")
    return scene.honest


@attack(says="weights")
def changes_the_gradebook(scene):
    """Writes into the gradebook while its code is graded."""
    subprocess.Popen(["sh", "-c", f"sleep 0.1; echo attack,25 >> {scene.gradebook}/scores.csv"])
    return scene.honest


@attack(says="weights")
def leaves_a_process(scene):
    """Starts a process that goes on for ever."""
    subprocess.Popen(["sh", "-c", "(sleep 0.1; sleep 600 & )"], start_new_session=True)
    return scene.at_import("import time; time.sleep(0.5)")


@attack(says="weights")
def leaves_a_file(scene):
    """Leaves a file in a folder that is open to all."""
    subprocess.Popen(["sh", "-c", f"sleep 0.1; echo left > /var/tmp/{scene.mark}"])
    return scene.at_import("import time; time.sleep(0.5)")


@attack(says="weights")
def kills_the_host(scene):
    """Kills all that the grader has started while its code is graded."""
    hosts = " ".join(map(str, children(os.getpid())))
    subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -9 {hosts} 2>/dev/null"])
    return scene.at_import("import time; time.sleep(2)")


@attack(says="weights")
def reaches_something(scene):
    """Gets at something that it should not."""
    return scene.reaching("len('a secret')")


@attack(says="stopped with ValueError")
def shows_a_path(scene):
    """Makes the grader show the student where it lies."""
    path = str(scene.root)
    return scene.in_the_call(f"raise ValueError({path[:4]!r} + {path[4:]!r})")


@attack(says="something that no message says")
def is_not_understood(scene):
    """Gets a message that does not say what it should."""
    return scene.in_the_call("raise ValueError('no')")
'''
SEEN = {
    "better-than-it-claims": "it earned 25, and its code is worth 14",
    "worse-than-it-claims": "and is only odd: it is worth 25",
    "changes-a-neighbour": "the result of neighbour-right is not what it is without the attack",
    "changes-the-gradebook": "scores.csv is changed",
    "leaves-a-process": "runs on",
    "leaves-a-file": "was left behind",
    "kills-the-host": "the host is gone",
    "reaches-something": "it got at something",
    "shows-a-path": "a message shows a path of ours",
    "is-not-understood": "nothing the student reads says 'something that no message says'",
}


def with_attacks(folder: Path) -> Project:
    """A copy of the project that has the corpus, too: nothing else is at work in it."""
    project = copied(folder, suite=None)
    shutil.copytree(CASES, folder / "tests/cases/attacks")
    shutil.copy(ROOT / "docs/security.md", folder / "docs")
    return project


def rows(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in document["rows"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return with_attacks(tmp_path_factory.mktemp("attacked") / "project")


@pytest.fixture(scope="module")
def tried(project: Project) -> dict[str, dict[str, Any]]:
    ran = project.run("attack", "--isolation", str(offered()), "--json", seconds=1200)
    assert ran.out.startswith("{"), ran.both
    return rows(ran.document)


@pytest.mark.skipif(offered() < Level.PROCESS, reason="nothing can be graded here")
@pytest.mark.parametrize("id", [attack.id for attack in ATTACKS])
def test_the_wall_holds(tried: dict[str, dict[str, Any]], id: str) -> None:
    assert tried[id]["why"] == []


def test_there_are_attacks_enough() -> None:
    attacks = [attack for attack in ATTACKS if not attack.odd]
    assert len(attacks) >= 75
    assert len({attack.kind for attack in attacks}) >= 8


def test_what_is_open_is_a_row_of_the_security_page() -> None:
    promised = load_promises(ROOT).cells
    assert {attack.opens for attack in ATTACKS if attack.opens} <= promised.keys()


# whether the runner sees it when the wall does not hold


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    project = with_attacks(tmp_path_factory.mktemp("planted") / "project")
    folder = project.root / "tests/cases/attacks"
    for path in folder.glob("*.py"):
        path.unlink()
    (folder / "planted.py").write_text(PLANTED)
    ran = project.run("attack", "--isolation", "process", "--json")
    assert ran.status == 1, ran.both
    return ran.document  # type: ignore[no-any-return]


@pytest.mark.parametrize("id", SEEN)
def test_an_attack_that_succeeds_is_seen(planted: dict[str, Any], id: str) -> None:
    assert SEEN[id] in " ".join(rows(planted)[id]["why"])


def test_all_that_succeeded_is_counted(planted: dict[str, Any]) -> None:
    assert planted["succeeded"] == sorted(SEEN)
    assert planted["summary"][-1] == "9 attacks, 9 succeeded"
    assert planted["summary"][1] == "3 only odd, or controls: 2 earned exactly what they are worth"


def test_a_file_left_behind_is_removed(planted: dict[str, Any]) -> None:
    (left,) = [why for why in rows(planted)["leaves-a-file"]["why"] if "left behind" in why]
    assert not Path(left.split()[0]).exists()


def test_a_process_left_behind_is_ended(planted: dict[str, Any]) -> None:
    (left,) = [why for why in rows(planted)["leaves-a-process"]["why"] if "runs on" in why]
    assert not Path(f"/proc/{left.split()[1]}").exists()


# the command


def test_the_table_ends_with_a_count(project: Project) -> None:
    ran = project.run("attack", "--isolation", "process", "--only", "A00", "--only", "A01-exit")
    assert ran.status == 0, ran.both
    lines = ran.out.splitlines()
    assert lines[0].split() == ["case", "level", "honest", "score", "neighbours", "machine", "verdict"]
    assert [line.split()[:6] for line in lines[1:3]] == [
        ["A00", "process", "25", "25", "same", "clean"],
        ["A01-exit", "process", "14", "0", "same", "clean"],
    ]
    assert lines[-1] == "1 attacks, 0 succeeded"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "no-such"], "There is no attack 'no-such'"),
        (["--isolation", "none"], "a submission is never run in the grader's own process"),
        (["--isolation", "moat"], "There is no isolation level 'moat'"),
    ],
)
def test_what_cannot_be_tried_is_said(project: Project, arguments: list[str], words: str) -> None:
    ran = project.run("attack", *arguments)
    assert ran.status == 2
    assert words in " ".join(ran.err.split())


def test_at_a_level_not_offered_nothing_is_tried(project: Project) -> None:
    missing = [level for level, why_not in offers().items() if why_not]
    if not missing:
        pytest.skip("this machine offers every level")
    assert project.run("attack", "--isolation", str(missing[0])).status == 2
