"""Intake of notebooks: the code cells that the exercises need, and never a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
SELF = "class SelfAttention:\n    pass"


def notebook(*cells: str) -> str:
    """A notebook of one markdown cell and these code cells."""
    code: list[dict[str, object]] = [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
        for cell in cells
    ]
    prose = {"cell_type": "markdown", "source": "class CrossAttention:\n    pass", "metadata": {}}
    return json.dumps({"cells": [prose, *code], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def read(folder: Path, content: str, name: str = "work.ipynb") -> Submission:
    (folder / name).write_text(content)
    (submission,) = read_submissions(folder / name, ASSIGNMENT)
    return submission


def kept(folder: Path, *cells: str) -> list[str]:
    """The lines of the module that a notebook of these cells becomes, without the blank ones."""
    submission = read(folder, notebook(*cells))
    source = submission.files[submission.homes["SelfAttention"]].decode()
    compile(source, "work.py", "exec")
    return [line for line in source.split("\n") if line and not line.startswith("# cell")]


@pytest.mark.parametrize("name", ["work.ipynb", "work.py", "work.py.txt", "work.IPYNB"])
def test_a_notebook_is_read_whatever_it_was_saved_as(tmp_path: Path, name: str) -> None:
    submission = read(tmp_path, notebook(SELF), name)
    assert submission.homes == {"SelfAttention": "work.py"}
    assert submission.originals == {"work.py": name}
    assert "CrossAttention was not handed in" in submission.problems["CrossAttention"]


def test_a_notebook_whose_name_cannot_be_imported_is_stored_as_the_exercise(tmp_path: Path) -> None:
    submission = read(tmp_path, notebook(SELF), "My Attention.ipynb")
    assert submission.originals == {"self_attention.py": "My Attention.ipynb"}


def test_cells_are_numbered_and_lines_stay_where_they_were(tmp_path: Path) -> None:
    source = read(tmp_path, notebook("import math\nprint(1)\nx = 2", f"print(x)\n{SELF}")).files["work.py"]
    assert source.decode() == f"# cell 1\n\n\n\n# cell 2\n\n{SELF}\n"


@pytest.mark.parametrize(
    "demo",
    [
        "import seaborn",
        "x = torch.randn(2, 3)\nmodel = SelfAttention(8)\nmodel.eval()",
        "for epoch in range(100):\n    loss = train()",
        "raise RuntimeError",
        "class Experiment(SelfAttention): pass",
        "def plot(): return SelfAttention",
        "torch.backends.x = 1\nmodel.y = 2",
        "!pip install torch",
        "%matplotlib inline",
        "%%bash\nrm -rf /",
        "%%html\n<b>class</b>",
        "help?",
    ],
)
def test_demonstrations_are_left_out(tmp_path: Path, demo: str) -> None:
    assert kept(tmp_path, demo, SELF, demo) == SELF.split("\n")


@pytest.mark.parametrize(
    "needed",
    [
        "import torch",
        "import torch.nn as nn\nimport torch",
        "from torch import *",
        "LIMIT = 3\ndef helper(): return torch, LIMIT\nimport torch",
        "try:\n    import torch\nexcept ImportError:\n    torch = None",
        "if True:\n    torch = 1\nelse:\n    torch = 2",
        "for torch in range(3):\n    pass",
        "torch: int = 3\ntorch += 1",
        "CONFIG = {}\nCONFIG['a'] = 1\nsetattr(CONFIG, 'b', 1)\ntorch = CONFIG",
        "@torch\ndef decorated(): pass\ntorch = 1\nSelfAttention.g = decorated",
    ],
)
def test_what_the_class_uses_is_kept(tmp_path: Path, needed: str) -> None:
    user = "class SelfAttention:\n    def f(self, x):\n        return torch, nn, helper, x"
    lines = [line for line in kept(tmp_path, needed, user, "x = 1 / 0") if line not in user.split("\n")]
    wanted = needed.split("\n")
    assert lines == [line for line in wanted if "import torch.nn" not in line or "nn" in user]


def test_a_local_variable_keeps_no_demonstration_of_the_same_name(tmp_path: Path) -> None:
    user = "class SelfAttention:\n    def f(_, x):\n        scores = x\n        y = [x.mask for x in scores]"
    assert kept(tmp_path, "scores = 1 / 0\nx = 1 / 0\nmask = 1 / 0", user) == user.split("\n")


def test_a_method_written_in_a_later_cell_is_kept(tmp_path: Path) -> None:
    patch = "def forward(self): pass\nSelfAttention.forward = forward"
    assert kept(tmp_path, SELF, patch) == [*SELF.split("\n"), *patch.split("\n")]


def test_statements_on_one_line_stay_together(tmp_path: Path) -> None:
    assert kept(tmp_path, f"import torch; print(\n1)\n{SELF}\n    y = torch")[:2] == [
        "import torch; print(",
        "1)",
    ]


def test_a_future_import_moves_to_the_top(tmp_path: Path) -> None:
    lines = kept(tmp_path, "import torch", f"from __future__ import annotations\n{SELF}\n    y = torch")
    assert lines[0] == "from __future__ import annotations  # cell 1"


@pytest.mark.parametrize("magic", ["%%time", "%%capture out", "\n%%time"])
def test_a_timed_cell_is_plain_code(tmp_path: Path, magic: str) -> None:
    assert kept(tmp_path, f"{magic}\n{SELF}") == SELF.split("\n")


def test_magics_in_a_cell_do_not_spoil_it(tmp_path: Path) -> None:
    cell = f"%load_ext x\n!pip install \\\n  torch\nfiles = !ls\nif files:\n    %time 1\nprint?\n{SELF}"
    assert kept(tmp_path, cell) == SELF.split("\n")


def test_a_percent_sign_at_the_start_of_a_line_is_no_magic_in_sound_code(tmp_path: Path) -> None:
    cell = f"{SELF}\n    a = (7\n%b)\nb = 3"
    assert kept(tmp_path, cell) == cell.split("\n")


def test_a_broken_cell_spoils_only_itself(tmp_path: Path) -> None:
    submission = read(tmp_path, notebook("x = (", SELF, "class CrossAttention(\n"))
    assert submission.homes == {"SelfAttention": "work.py"}
    assert "Cell 3 of work.ipynb is not valid Python" in submission.problems["CrossAttention"]
    assert "in line 1, column 21" in submission.problems["CrossAttention"]


def test_an_earlier_broken_draft_of_a_class_does_not_count(tmp_path: Path) -> None:
    assert kept(tmp_path, "class SelfAttention(", SELF) == SELF.split("\n")


def test_a_class_that_is_only_imported_is_taken_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "self_attention.py").write_text(SELF)
    (tmp_path / "demo.ipynb").write_text(notebook("from self_attention import SelfAttention"))
    (submission,) = read_submissions(tmp_path, ASSIGNMENT)
    assert submission.homes == {"SelfAttention": "self_attention.py"}


def test_a_notebook_and_a_file_with_the_same_class_are_named(tmp_path: Path) -> None:
    (tmp_path / "self_attention.py").write_text(SELF)
    (tmp_path / "self_attention.ipynb").write_text(notebook(SELF.replace("pass", "x = 1")))
    (submission,) = read_submissions(tmp_path, ASSIGNMENT)
    assert "self_attention.ipynb and self_attention.py" in submission.problems["SelfAttention"]


def test_the_first_notebook_format_still_in_use_is_read(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "input": [SELF], "outputs": [], "language": "python"}
    old = {"worksheets": [{"cells": [cell]}], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}
    assert read(tmp_path, json.dumps(old)).homes == {"SelfAttention": "work.py"}


@pytest.mark.parametrize(
    "content",
    [
        "not JSON",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        '{"cells": 3, "nbformat": 4, "nbformat_minor": 4, "metadata": {}}',
        '{"cells": [3], "nbformat": 4, "nbformat_minor": 4, "metadata": {}}',
        '{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 4, "metadata": {}}',
        '{"cells": [], "nbformat": 9999, "nbformat_minor": 4, "metadata": {}}',
        notebook(*["x = 1"] * 2001),
    ],
)
def test_what_is_no_notebook_says_so(tmp_path: Path, content: str, capfd: pytest.CaptureFixture[str]) -> None:
    unreadable = read(tmp_path, content, "self_attention.ipynb").unreadable or ""
    assert unreadable.startswith("self_attention.ipynb ")
    assert "is not a notebook" in unreadable or "more than 2000 code cells" in unreadable
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "source", ["x = '\ud800'", "x = '\0'", ["x = 1\n", "y = 2"], None, "# coding: latin-1\nx = 'é'"]
)
def test_odd_cells_do_no_harm(tmp_path: Path, source: object) -> None:
    document = json.loads(notebook("", SELF))
    document["cells"][1]["source"] = source
    assert read(tmp_path, json.dumps(document)).homes == {"SelfAttention": "work.py"}
