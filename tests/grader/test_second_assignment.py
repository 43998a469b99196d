"""Another assignment, not about attention, graded by the same grader without a change in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.grader.project import ROOT, Project, results

HINTS = """\
## Hint 1

What must the shares of one row add up to?

## Hint 2

Which number is the largest that a power can be taken of before it is infinite?

## Hint 3

What happens to the shares when the same number is taken off every score?
"""
FILES = {
    "assignment.toml": """\
name = "softmax"
title = "Softmax by hand"
diagnosis = "tests.diagnosis"

[policy]
refused_in_core = ["torch.softmax"]

[exercises.softmax]
title = "Softmax"
file = "softmax.py"
defines = ["softmax"]
points = 100
public_points = 40
""",
    "conftest.py": 'pytest_plugins = ["grader.examination.plugin", "tests.support.fixtures"]\n',
    "requirements-student.txt": "torch\n",
    "LICENSE": "Free.\n",
    "solutions/README.md": "# Softmax\n",
    "solutions/hints/softmax.md": HINTS,
    "solutions/softmax.py": '''\
"""Softmax: any numbers made into shares."""

import torch


def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Shares along the last axis, (..., n): positive, and adding up to 1."""
    ### BEGIN SOLUTION: Turn the scores into shares.
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)
    ### END SOLUTION
''',
    "tests/__init__.py": "",
    "tests/support/__init__.py": "",
    "tests/support/fixtures.py": '"""Nothing is shared yet."""\n',
    "tests/diagnosis/__init__.py": '''\
"""What a wrong softmax looks like."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Finding:
    id: str
    sentence: str
    question: str
    aspects: tuple[str, ...] = ("parity",)


def diagnose(exercise, candidate, seed):
    candidate.begin(seed)
    scores = torch.tensor([[0.0, 1.0]])
    total = candidate.apply("softmax", scores).value.sum().item()
    if abs(total - 1) > 1e-4:
        return [Finding("no-shares", "The numbers do not add up to one.", "What do you divide by?")]
    if not candidate.apply("softmax", 1000 * scores).value.isfinite().all():
        return [Finding("overflow", "Powers of large scores are infinite.", "What may be taken off first?")]
    return []
''',
    "tests/public/test_softmax.py": '''\
import torch

from grader.examination.marks import aspect


@aspect("parity", "softmax")
def test_shares_add_up(candidate):
    """The shares of any scores add up to one."""
    found = candidate.apply("softmax", torch.tensor([[1.0, 2.0, 3.0]])).value
    assert abs(found.sum().item() - 1) < 1e-5, f"they add up to {found.sum().item():.3g}, they must to 1."
''',
    "tests/hidden/test_more.py": '''\
import torch

from grader.examination.marks import aspect


@aspect("parity", "softmax")
def test_large_scores(candidate):
    """Scores in the hundreds give shares, too."""
    found = candidate.apply("softmax", torch.tensor([[500.0, 501.0]])).value
    assert torch.isfinite(found).all(), "some of the shares are not numbers."
''',
    "tests/cases/mistakes/softmax/numbers.toml": """\
[[mistake]]
id = "undivided"
what = "nothing is divided"
diagnosis = "no-shares"
aspect = "parity"
[[mistake.change]]
old = '''powers / powers.sum(-1, keepdim=True)'''
new = '''powers'''

[[mistake]]
id = "overflow"
what = "the highest score is not taken off"
diagnosis = "overflow"
aspect = "parity"
[[mistake.change]]
old = '''(scores - scores.amax(-1, keepdim=True)).exp()'''
new = '''scores.exp()'''
""",
    "tests/cases/lookalikes/softmax/softmax-logsumexp.py": """\
# by way of logsumexp

import torch


def softmax(scores):
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()
""",
    "tests/cases/kept.toml": """\
[reasons]
first-step = "It is what students start with."

[tests]
test_shares_add_up = "first-step"
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the grader beside an assignment of its own."""
    root = tmp_path_factory.mktemp("second") / "root"
    shutil.copytree(ROOT / "grader", root / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    project = Project(root)
    assert project.run("generate").status == 0
    return project


def test_it_is_verified(project: Project) -> None:
    ran = project.run("verify", "--seed", "1")
    assert ran.status == 0, ran.both
    assert "mistakes killed          2 of 2" in ran.out
    assert "mistakes named           2 of 2" in ran.out
    assert "look-alikes              1 of 1 at full points" in ran.out


def test_it_is_checked(project: Project) -> None:
    ran = project.run("check")
    assert ran.status == 0, ran.both
    assert "Softmax" in ran.out
    assert "attention" not in ran.out.lower()


def test_it_is_graded(project: Project, tmp_path: Path) -> None:
    solution = FILES["solutions/softmax.py"]
    for name, text in {
        "right": solution,
        "undivided": solution.replace("powers / powers.sum(-1, keepdim=True)", "powers"),
        "library": solution.replace("powers / powers.sum(-1, keepdim=True)", "torch.softmax(scores, -1)"),
    }.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "softmax.py").write_text(text)
    ran = project.run("grade", tmp_path / "class", "--out", tmp_path / "out")
    assert ran.status == 0, ran.both
    found = results(tmp_path / "out")
    assert {name: result["score"] for name, result in found.items()} == {
        "right": 100,
        "undivided": 60,
        "library": 0,
    }
    assert found["undivided"]["tests"][0]["diagnosis"] == "no-shares"


def test_it_is_released(project: Project, tmp_path: Path) -> None:
    ran = project.run("release", "--out", tmp_path)
    assert ran.status == 0, ran.both
    assert (tmp_path / "softmax/tests/diagnosis/__init__.py").is_file()
    assert not (tmp_path / "softmax/tests/hidden").exists()
