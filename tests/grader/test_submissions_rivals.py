"""Intake where an exercise is there twice, as a file and as a notebook: what the student wrote counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = load_assignment(ROOT)
STUB = '''\
from torch import nn


class SelfAttention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self, d_model):
        """Prepare."""
        super().__init__()
        raise NotImplementedError("Create the projections.")

    def forward(self, x):
        raise NotImplementedError("Attend.")
'''
SOLVED = STUB.replace('raise NotImplementedError("Create the projections.")', "self.W_Q = d_model").replace(
    'raise NotImplementedError("Attend.")', "return x, x"
)
OTHERWISE = SOLVED.replace("return x, x", "return x, None")
BEGUN = STUB.replace('raise NotImplementedError("Create the projections.")', "self.W_Q = d_model")
OLD_STUB = STUB.replace("Attend.", "Write this part.")
REWORDED = SOLVED.replace("Attention of a sequence", "# My attention").replace("x, x", "(x, x)  # done")
WITH_HELPER = SOLVED.replace("return x, x", "return helper(x)") + "\n\ndef helper(x):\n    return x, x\n"
PATCHED = STUB + "\n\ndef forward(self, x):\n    return x\n\n\nSelfAttention.forward = forward\n"
TWICE = STUB + "\n\n" + SOLVED
BROKEN = SOLVED + "x = (\n"
HANDED_OUT = "self_attention.py", "notebooks/self_attention.ipynb"


def as_notebook(code: str) -> str:
    head, _, rest = code.partition("\n\n\n")
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
        for cell in (head, rest, "SelfAttention(8)(1)")
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def both(folder: Path, file: str, notebook: str) -> Submission:
    """A folder as it was handed out, with this in the file and that in the notebook."""
    (folder / "notebooks").mkdir(parents=True)
    (folder / HANDED_OUT[0]).write_text(file)
    (folder / HANDED_OUT[1]).write_text(as_notebook(notebook))
    (submission,) = read_submissions(folder, ASSIGNMENT)
    return submission


@pytest.mark.parametrize(
    ("file", "notebook", "counts"),
    [
        (STUB, STUB, "file"),
        (OLD_STUB, STUB, "file"),
        (SOLVED, STUB, "file"),
        (STUB, SOLVED, "notebook"),
        (OLD_STUB, SOLVED, "notebook"),
        (WITH_HELPER, STUB, "file"),
        (STUB, WITH_HELPER, "notebook"),
        (STUB, PATCHED, "notebook"),
        (STUB, TWICE, "notebook"),
        (BEGUN, STUB, "file"),
        (STUB, BEGUN, "notebook"),
        (BEGUN, SOLVED, "notebook"),
        (SOLVED, BEGUN, "file"),
        (SOLVED, SOLVED, "file"),
        (SOLVED, REWORDED, "file"),
        (SOLVED, "import math\nfrom torch import nn\n" + SOLVED, "file"),
    ],
)
def test_what_was_written_counts(tmp_path: Path, file: str, notebook: str, counts: str) -> None:
    submission = both(tmp_path, file, notebook)
    assert "SelfAttention" not in submission.problems
    home = submission.homes["SelfAttention"]
    assert submission.originals[home] == HANDED_OUT[counts == "notebook"]


@pytest.mark.parametrize(
    ("file", "notebook"),
    [
        (SOLVED, OTHERWISE),
        (SOLVED, PATCHED),
        (BEGUN.replace("d_model\n", "1\n"), SOLVED),
        (SOLVED, WITH_HELPER),
        (WITH_HELPER, WITH_HELPER.replace("return x, x", "return x, None")),
        (BROKEN, SOLVED),
    ],
)
def test_what_was_written_twice_and_differs_names_both(tmp_path: Path, file: str, notebook: str) -> None:
    problem = both(tmp_path, file, notebook).problems["SelfAttention"]
    assert "not clear which one counts" in problem
    assert all(name in problem for name in HANDED_OUT)


def test_a_broken_file_is_told_rather_than_the_untouched_notebook_graded(tmp_path: Path) -> None:
    problem = both(tmp_path, BROKEN, STUB).problems["SelfAttention"]
    assert problem.startswith("self_attention.py is not valid Python")


def test_the_untouched_ones_of_three_give_way(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/draft.py").write_text(SOLVED)
    submission = both(tmp_path, STUB, STUB)
    assert submission.originals == {"draft.py": "old/draft.py"}


def test_names_of_one_file_can_come_from_both(tmp_path: Path) -> None:
    more = "\n\nclass CrossAttention(nn.Module):\n    def forward(self, x):\n        "
    left, right = more + "return x\n", more + "raise NotImplementedError\n"
    submission = both(tmp_path, STUB + left, SOLVED + right)
    homes = {name: submission.originals[key] for name, key in submission.homes.items()}
    assert homes == {"SelfAttention": HANDED_OUT[1], "CrossAttention": HANDED_OUT[0]}


@pytest.mark.parametrize("solved", ["file", "notebook"])
def test_the_handed_out_folder_with_one_form_solved_is_one_submission(tmp_path: Path, solved: str) -> None:
    text = (ROOT / "exercises" / HANDED_OUT[0]).read_text()
    answer = (ROOT / "solutions" / HANDED_OUT[0]).read_text()
    stub = json.loads((ROOT / "exercises" / HANDED_OUT[1]).read_text())
    cells = [cell for cell in stub["cells"] if "class SelfAttention" in "".join(cell["source"])]
    (tmp_path / "notebooks").mkdir()
    (tmp_path / HANDED_OUT[0]).write_text(answer if solved == "file" else text)
    if solved == "notebook":
        cells[0]["source"] = answer[answer.index("class SelfAttention") :]
    (tmp_path / HANDED_OUT[1]).write_text(json.dumps(stub))
    (submission,) = read_submissions(tmp_path, ASSIGNMENT)
    assert submission.originals == {"self_attention.py": HANDED_OUT[solved == "notebook"]}
