"""Mistakes and look-alikes as they are written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.quality.cases import CaseError, LookAlike, Mistake, load_lookalikes, load_mistakes

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = load_assignment(ROOT)
ANSWER = "import torch\n\n\nclass SelfAttention:\n    pass\n"


def lookalikes(folder: Path, **files: str) -> list[LookAlike]:
    """Those loaded from files of self-attention; ``__`` in a name parts folders."""
    for name, text in files.items():
        file = (folder / "self_attention" / name.replace("__", "/")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return load_lookalikes(folder, ASSIGNMENT)


def test_the_header_of_a_lookalike_is_no_part_of_the_answer(tmp_path: Path) -> None:
    (case,) = lookalikes(tmp_path, odd=f"# does it oddly\n\n{ANSWER}")
    assert (case.id, case.what, case.exercises, case.refused) == (
        "odd",
        "does it oddly",
        ("self_attention",),
        False,
    )
    assert case.submission.files == {"self_attention.py": ANSWER.encode()}


def test_a_header_says_what_is_not_usual(tmp_path: Path) -> None:
    header = "# calls the library\n# exercises: self_attention, cross_attention\n# refused: yes\n"
    (case,) = lookalikes(tmp_path, odd=f"{header}\n{ANSWER}")
    assert case.exercises == ("self_attention", "cross_attention")
    assert case.refused


def test_a_lookalike_of_several_files_is_a_folder(tmp_path: Path) -> None:
    main = ANSWER.replace("import torch", "import helper")
    (case,) = lookalikes(tmp_path, two__self_attention=f"# in two files\n\n{main}", two__helper="x = 1\n")
    assert case.submission.files == {"self_attention.py": main.encode(), "helper.py": b"x = 1\n"}


@pytest.mark.parametrize(
    "header", ["", "#\n", "# odd\n# refused\n", "# odd\n# refuse: yes\n", "# odd\n# exercises: all\n"]
)
def test_a_lookalike_without_a_proper_header_is_told(tmp_path: Path, header: str) -> None:
    with pytest.raises(CaseError, match=r"odd\.py"):
        lookalikes(tmp_path, odd=f"{header}\n{ANSWER}")


MISTAKE = """
[[mistake]]
id = "no-softmax"
exercises = ["self_attention", "cross_attention"]
what = "the scores are taken for the weights"
diagnosis = "softmax-missing"
aspect = "parity"
[[mistake.change]]
old = "softmax(scores)"
new = "scores"
"""


def mistakes(folder: Path, text: str) -> list[Mistake]:
    """Those of a file of self-attention, made in two small solutions."""
    for name in ("self_attention.py", "cross_attention.py"):
        (folder / "solutions").mkdir(exist_ok=True)
        (folder / "solutions" / name).write_text(f"# {name}\nweights = softmax(scores)\n")
    file = folder / "mistakes/self_attention/softmax.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (folder / "mistakes/prefixes.toml").write_text('self_attention = "self"\n')
    return load_mistakes(folder / "mistakes", folder / "solutions", ASSIGNMENT)


def test_a_mistake_of_two_exercises_stands_once(tmp_path: Path) -> None:
    found = mistakes(tmp_path, MISTAKE)
    assert {case.id: case.files for case in found} == {
        "self-no-softmax": {"self_attention.py": "# self_attention.py\nweights = scores\n"},
        "cross-attention-no-softmax": {"cross_attention.py": "# cross_attention.py\nweights = scores\n"},
    }
    assert [case.exercise for case in found] == ["self_attention", "cross_attention"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('aspect = "parity"', "", r"mistake\.0\.aspect: Field required"),
        ('aspect = "parity"', 'aspect = "parity"\nsource = "a guess"', r"mistake\.0\.source: Extra inputs"),
        ('"cross_attention"', '"gross_attention"', "no exercise 'gross_attention'"),
        ('"cross_attention"', '"self_attention"', "two mistakes are called 'self-no-softmax'"),
        ('"cross_attention"', '"parallel_heads"', "no solution parallel_heads.py"),
        ('old = "softmax(', 'old = "softmin(', "occurs 0 times in self_attention.py"),
    ],
)
def test_a_mistake_that_cannot_be_used_is_told(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(CaseError, match=complaint):
        mistakes(tmp_path, MISTAKE.replace(old, new))
