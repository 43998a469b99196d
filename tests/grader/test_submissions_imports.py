"""Intake of a student's own modules: what the exercise files import comes along, nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
SELF = "class SelfAttention:\n    pass\n"
HEADS = "class MultiHeadAttention:\n    pass\n"


def read(folder: Path, files: Mapping[str, str]) -> Submission:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (submission,) = read_submissions(folder, ASSIGNMENT)
    return submission


def assert_importable(submission: Submission, folder: Path) -> None:
    """Lay the files flat, as the candidate gets them, and import every home."""
    for key, content in submission.files.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    modules = ", ".join(home.removesuffix(".py") for home in submission.homes.values())
    run = subprocess.run(
        [sys.executable, "-c", f"import {modules}"], cwd=folder, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def test_an_import_by_the_right_name_hands_it_in(tmp_path: Path) -> None:
    statement = "from core import Attention as SelfAttention\n"
    submission = read(tmp_path / "a", {"self_attention.py": statement, "core.py": "class Attention: pass\n"})
    assert submission.homes == {"SelfAttention": "self_attention.py"}
    assert_importable(submission, tmp_path / "b")


def test_an_import_by_that_name_elsewhere_is_only_a_use_of_it(tmp_path: Path) -> None:
    other = "from torch.nn import MultiheadAttention as MultiHeadAttention\n"
    files = {"multi_head_attention.py": HEADS, "compare.py": other, "self_attention.py": f"{other}{SELF}"}
    homes = read(tmp_path, files).homes
    assert homes == {"SelfAttention": "self_attention.py", "MultiHeadAttention": "multi_head_attention.py"}


@pytest.mark.parametrize(
    ("statement", "others"),
    [
        ("import helper", {"helper.py": ""}),
        ("from helper import x", {"helper.py": "from deeper import x", "deeper.py": "x = 1"}),
        ("from .helper import x", {"helper.py": "x = 1"}),
        ("from . import helper as h", {"helper.py": "x = 1"}),
        ("from . import (\n    helper,\n    other,\n)  # both", {"helper.py": "", "other.py": ""}),
        ("import utils.masks", {"utils/masks.py": ""}),
        ("from utils import masks", {"utils/masks.py": ""}),
        ("from utils import x", {"utils/__init__.py": "from .masks import x", "utils/masks.py": "x = 1"}),
        ("from utils.masks import x", {"utils/__init__.py": "", "utils/masks.py": "x = 1"}),
        ("def late():\n    import helper", {"helper.py": ""}),
        ("from helper import x", {"helper.py": "import self_attention\nx = 1"}),
    ],
)
def test_what_an_exercise_imports_comes_along(tmp_path: Path, statement: str, others: dict[str, str]) -> None:
    submission = read(tmp_path / "a", {"self_attention.py": f"{statement}\n{SELF}", **others})
    assert submission.files.keys() == {"self_attention.py", *others}
    assert_importable(submission, tmp_path / "flat")


def test_other_files_stay_behind(tmp_path: Path) -> None:
    files = {
        "self_attention.py": f"import helper\n{SELF}",
        "helper.py": "",
        "train.py": "",
        "conftest.py": "",
    }
    assert read(tmp_path / "a", files).files.keys() == {"self_attention.py", "helper.py"}


@pytest.mark.parametrize(
    "module",
    ["random", "torch", "numpy", "grader", "tests", "conftest", "sitecustomize", "pytest", "__main__"],
)
@pytest.mark.parametrize(
    "statement", ["import {0}", "from {0} import x", "from .{0} import x", "from . import {0}"]
)
def test_a_module_that_stands_in_for_another_is_left_out(tmp_path: Path, module: str, statement: str) -> None:
    source = f"{statement.format(module)}\n{SELF}"
    submission = read(
        tmp_path / "a", {"self_attention.py": source, f"{module}.py": "x = 1", f"{module}/y.py": ""}
    )
    assert submission.files == {"self_attention.py": source.encode()}


@pytest.mark.parametrize(
    "statement",
    [
        "from self_attention import SelfAttention",
        "from .self_attention import SelfAttention",
        "from exercises.self_attention import SelfAttention",
        "from ..exercises.self_attention import SelfAttention",
        "from ..exercises import self_attention",
    ],
)
def test_exercise_files_may_import_one_another(tmp_path: Path, statement: str) -> None:
    files = {
        "exercises/self_attention.py": SELF,
        "exercises/multi_head_attention.py": f"{statement}\n{HEADS}",
    }
    submission = read(tmp_path / "a", files)
    assert submission.homes["MultiHeadAttention"] == "multi_head_attention.py"
    assert_importable(submission, tmp_path / "flat")


def test_a_rewritten_import_leaves_every_line_where_it_was(tmp_path: Path) -> None:
    source = f"x = 'é'; from .helper import (\n    y,\n    z\n)\n{SELF}"
    submission = read(tmp_path / "a", {"self_attention.py": source, "helper.py": "y = z = 1"})
    stored = submission.files["self_attention.py"].decode()
    assert stored == f"x = 'é'; from helper import y, z\n\n\n\n{SELF}"


def test_an_import_finds_its_file_beside_the_importing_file_first(tmp_path: Path) -> None:
    files = {
        "alice/week1/self_attention.py": f"import helper, other\n{SELF}",
        "alice/week1/helper.py": "near = 1",
        "alice/helper.py": "far = 1",
        "alice/other.py": "above = 1",
    }
    stored = read(tmp_path / "class", files).files
    assert (stored["helper.py"], stored["other.py"]) == (b"near = 1", b"above = 1")


def test_two_helpers_of_one_name_are_a_problem_that_names_both(tmp_path: Path) -> None:
    submission = read(
        tmp_path / "a",
        {
            "exercises/self_attention.py": f"import helper\n{SELF}",
            "exercises/helper.py": "x = 1",
            "heads/multi_head_attention.py": f"import helper\n{HEADS}",
            "heads/helper.py": "x = 2",
        },
    )
    assert submission.homes == {"SelfAttention": "self_attention.py"}
    assert "heads/helper.py" in submission.problems["MultiHeadAttention"]
    assert "exercises/helper.py" in submission.problems["MultiHeadAttention"]


def test_a_helper_that_is_a_link_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "helper.py").symlink_to("/etc/passwd")
    submission = read(tmp_path / "a", {"self_attention.py": f"import helper\n{SELF}"})
    assert "self_attention.py imports helper.py, which is a link" in submission.problems["SelfAttention"]
    assert not submission.files


def test_a_helper_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "helper.py").write_bytes("x = 1".encode("utf-16"))
    submission = read(tmp_path / "a", {"self_attention.py": f"import helper\n{SELF}"})
    assert "imports helper.py, which cannot be read" in submission.problems["SelfAttention"]
    assert "UTF-16" in (submission.unreadable or "")


def test_a_helper_with_a_syntax_error_comes_along_to_say_so_itself(tmp_path: Path) -> None:
    submission = read(tmp_path / "a", {"self_attention.py": f"import helper\n{SELF}", "helper.py": "x = ("})
    assert submission.files["helper.py"] == b"x = ("


def test_a_helper_counts_towards_the_hash(tmp_path: Path) -> None:
    files = {"self_attention.py": f"import helper\n{SELF}", "helper.py": "x = 1"}
    one, two = read(tmp_path / "a", files), read(tmp_path / "b", files | {"helper.py": "x = 2"})
    assert one.source != two.source
