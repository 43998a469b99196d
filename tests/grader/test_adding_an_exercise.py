"""docs/adding-an-exercise.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import re
import shlex
import zipfile
from pathlib import Path

import pytest

from tests.grader.project import ROOT, Project, Ran, copied, points, results, run

GUIDE = (ROOT / "docs/adding-an-exercise.md").read_text()
FILE = re.compile(r"^(?P<how>[^\n]*)\*\*`(?P<name>[^`]+)`\*\*\n\n```\w+\n(?P<text>.*?)^```$", re.M | re.S)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
ANSWER = "return torch.ones(seq_len, seq_len).tril() > 0"


def blocks() -> list[tuple[str, bool, str]]:
    """The files of the guide: name, whether the text goes to the end of one that is there, text."""
    return [(match["name"], "end of" in match["how"], match["text"]) for match in FILE.finditer(GUIDE)]


def commands() -> list[list[str]]:
    """The guide's commands, without ``python -m grader``."""
    lines = [line for block in COMMANDS.findall(GUIDE) for line in block.splitlines()]
    assert all(line.startswith("python -m grader ") for line in lines)
    return [shlex.split(line)[3:] for line in lines]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, Ran]]:
    """A copy in which the guide was followed, and how each of its commands ended."""
    project = copied(tmp_path_factory.mktemp("adding") / "root", suite=None)
    for name, at_the_end, text in blocks():
        file = project.root / name
        assert file.exists() == at_the_end, name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text((file.read_text() if at_the_end else "") + text)
    return project, {command[0]: project.run(*command) for command in commands()}


def test_every_code_block_is_a_file_or_a_command() -> None:
    assert GUIDE.count("\n```") == 2 * (len(blocks()) + len(COMMANDS.findall(GUIDE)))
    assert [name for name, at_the_end, _ in blocks() if at_the_end] == ["assignment.toml"]
    assert [command[0] for command in commands()] == ["generate", "verify", "release", "grade"]


@pytest.mark.parametrize("command", ["generate", "verify", "release", "grade"])
def test_every_command_of_the_guide_succeeds(followed: tuple[Project, dict[str, Ran]], command: str) -> None:
    ran = followed[1][command]
    assert ran.status == 0, ran.both


def test_the_stub_and_its_notebook_are_made(followed: tuple[Project, dict[str, Ran]]) -> None:
    stub = (followed[0].root / "exercises/causal_mask.py").read_text()
    assert 'raise NotImplementedError("Allow every query the keys up to its own place.")' in stub
    assert ANSWER not in stub
    assert (
        "What does your mask allow?"
        in (followed[0].root / "exercises/notebooks/causal_mask.ipynb").read_text()
    )


def test_verify_has_judged_the_new_cases(followed: tuple[Project, dict[str, Ran]]) -> None:
    lines = [
        line.split(maxsplit=1)[1] for line in followed[1]["verify"].out.splitlines() if line.startswith("ok")
    ]
    said = {re.sub(r"\s{2,}.*", "", line): re.sub(r".*?\s{2,}", "", line) for line in lines}
    assert said["mistakes killed"] == "3 of 3"
    assert said["mistakes named"] == "3 of 3"
    assert said["look-alikes"].startswith("1 of 1 at full points")


def test_a_mistake_that_no_test_catches_is_told(
    followed: tuple[Project, dict[str, Ran]], tmp_path: Path
) -> None:
    project = copied(tmp_path / "root", suite=None)
    for name, at_the_end, text in blocks():
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text(((project.root / name).read_text() if at_the_end else "") + text)
    project.change(
        "tests/cases/mistakes/causal_mask/causal_mask.toml", "new = '''.triu()'''", "new = '''.tril(0)'''"
    )
    assert project.run("generate").status == 0
    ran = project.run("verify")
    assert ran.status == 1
    assert "2 of 3; causal-mask-upper (masking)" in ran.out


def test_the_release_holds_the_exercise_and_not_its_answer(followed: tuple[Project, dict[str, Ran]]) -> None:
    with zipfile.ZipFile(followed[0].root / "build/release/attention.zip") as archive:
        files = {name.removeprefix("attention/"): archive.read(name).decode() for name in archive.namelist()}
    assert {
        "exercises/causal_mask.py",
        "exercises/hints/causal_mask.md",
        "tests/public/test_causal_mask.py",
    } <= set(files)
    assert not [name for name, text in files.items() if "lengths" in name or ANSWER in text]


def test_the_exercise_is_graded_with_its_points(followed: tuple[Project, dict[str, Ran]]) -> None:
    result = results(followed[0].root / "build/tried")["solutions"]
    assert points(result)["causal_mask"] == 5
    assert result["score"] == 100
    assert {test["max_score"] for test in result["tests"] if test["exercise"] == "causal_mask"} == {1, 0.5}


def test_a_student_is_told_in_the_words_of_the_test(followed: tuple[Project, dict[str, Ran]]) -> None:
    ran = run("-m", "grader", "check", "causal_mask", cwd=followed[0].root / "build/release/attention")
    said = " ".join(ran.out.split())
    assert "First failure, in causal_mask (shapes) causal_mask(5) has 5 rows and 5 columns." in said
    assert "NotImplementedError: Allow every query the keys up to its own place." in said
    hint = run("-m", "grader", "hint", "causal_mask", cwd=followed[0].root / "build/release/attention")
    assert hint.out.startswith("Hint 1 of 3 for causal_mask\n\nWrite the mask for three tokens by hand.")
