"""Leaks: whatever an answer or a hidden test is dressed up as, it is found; what is public is not."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.release.leaks import Leak, LeakKind, find_leaks, solution_lines

SOLUTION = '''\
import math
from torch import nn


class Attention(nn.Module):
    def prepare(self):
        self.ready = self.make(1, 2)

    def __init__(self, d_model, d_k=None):
        ### BEGIN SOLUTION: Make it.
        super().__init__()
        self.d_k = d_k
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.ready = self.make(1, 2)
        ### END SOLUTION

    def forward(self, x, mask=None):
        ### BEGIN SOLUTION
        """Words in a docstring (of a solution)."""
        batch = x.size(0)
        q = self.W_Q(x)  # project (first)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        x = x + 1
        weights = some.long_function_name(
            q @ k.transpose(-2, -1) / math.sqrt(self.d_k),
            dim=-1,
        )
        return output, weights
        ### END SOLUTION
'''
FILL = 'scores = scores.masked_fill(mask == 0, float("-inf"))'
HIDDEN = "from x import y\n\n\ndef test_blocked_weights_are_zero(candidate):\n    assert y(candidate)\n"
PUBLIC = "class TestShapes:\n    def test_shape(self):\n        assert 1\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("assignment")
    files = {
        "solutions/attention.py": SOLUTION,
        "tests/hidden/__init__.py": "",
        "tests/hidden/test_secret.py": HIDDEN,
        "tests/hidden/test_both.py": f"{PUBLIC}\n\nclass TestDeep:\n    pass\n",
        "tests/public/test_both.py": PUBLIC,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def leaks_in(root: Path, **files: str | bytes) -> list[Leak]:
    tree = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    return find_leaks(tree, root / "solutions", root / "tests" / "hidden")


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def notebook(source: list[str] | str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source, "outputs": []}], "nbformat": 4})


def test_solution_lines_are_those_that_tell_an_answer(root: Path) -> None:
    assert [(line.line, line.text) for line in solution_lines(root / "solutions")] == [
        (13, "self.W_Q = nn.Linear(d_model, d_k, bias=False)"),
        (21, "q = self.W_Q(x)"),
        (23, FILL),
        (25, "weights = some.long_function_name( q @ k.transpose(-2, -1) / math.sqrt(self.d_k), dim=-1, )"),
        (26, "q @ k.transpose(-2, -1) / math.sqrt(self.d_k),"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        FILL,
        f"a = 1\n\n        {FILL}\nb = 2",
        FILL.replace(" ", ""),
        FILL.replace("(", "( ").replace("=", "  =\t"),
        FILL.replace('"', "'"),
        f"{FILL}  # block it",
        f"# {FILL}",
        f"Use `{FILL}` there.",
        f"if mask is not None: {FILL}; print(1)",
        'scores = scores.masked_fill(\n    mask == 0,  # blocked\n    float("-inf"))',
        '# scores = scores.masked_fill(\n#     mask == 0,\n#     float("-inf"))',
        'scores = \\\n    scores.masked_fill(mask == 0, float("-inf"))',
        f'"""\n{FILL}\n"""',
        FILL.replace(" ", "\r\n"),
    ],
)
def test_a_solution_line_is_found_however_it_is_written(root: Path, text: str) -> None:
    (leak,) = leaks_in(root, **{"a.py": text})
    assert (leak.path, leak.kind) == ("a.py", LeakKind.SOLUTION)
    assert FILL in leak.detail
    assert "line 23 of attention.py" in str(leak)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_solution_line_is_found_in_any_encoding(root: Path, encoding: str) -> None:
    assert leaks_in(root, a=FILL.encode(encoding))


def test_a_leak_names_the_line_it_stands_on(root: Path) -> None:
    (leak,) = leaks_in(root, a=f"one\n\nthree\n  {FILL}\n")
    assert leak.line == 4


@pytest.mark.parametrize(
    "source",
    [
        ["x = 1\n", FILL],
        f"x = 1\n{FILL}",
        ["scores = scores.masked_fill(mask == 0,\n", 'float("-inf"))'],
        'scores = scores.masked_fill(  # block\n    mask == 0, float("-inf"))',
    ],
)
def test_a_solution_line_in_a_notebook_is_found(root: Path, source: list[str] | str) -> None:
    (leak,) = leaks_in(root, **{"a.ipynb": notebook(source)})
    assert leak.kind == LeakKind.SOLUTION


def test_archives_are_searched_also_within_each_other(root: Path) -> None:
    inner = zipped(**{"n.ipynb": notebook(FILL).encode()})
    (leak,) = leaks_in(root, **{"a.zip": zipped(**{"b.dat": inner})})
    assert (leak.path, leak.kind) == ("a.zip!/b.dat!/n.ipynb", LeakKind.SOLUTION)


def test_an_archive_that_cannot_be_searched_is_a_leak(root: Path) -> None:
    damaged = bytearray(zipped(a=b"0123456789" * 200))
    damaged[35:45] = b"\xff" * 10
    assert [leak.kind for leak in leaks_in(root, **{"a.zip": bytes(damaged)})] == [LeakKind.UNSEARCHABLE]


@pytest.mark.parametrize(
    "text",
    ["super().__init__()", "self.d_k = d_k", "batch = x.size(0)", "if mask is not None:",
     "return output, weights", "self.ready = self.make(1, 2)", "x = x + 1", "q = self.W_K(x)",
     "The beginning of a solution."],
)  # fmt: skip
def test_what_tells_no_answer_is_no_leak(root: Path, text: str) -> None:
    assert leaks_in(root, a=text) == []


@pytest.mark.parametrize(
    "marker", ["### BEGIN SOLUTION", "# END SOLUTION", "<!-- BEGIN SOLUTION -->", "BEGIN_SOLUTION"]
)
def test_a_marker_is_a_leak(root: Path, marker: str) -> None:
    (leak,) = leaks_in(root, a=f"\n{marker}\n")
    assert (leak.kind, leak.line) == (LeakKind.MARKER, 2)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_secret.py", "pass"),
        ("tests/hidden/test_both.py", "pass"),
        ("copy.txt", HIDDEN),
        ("a.py", "def test_blocked_weights_are_zero():\n    pass\n"),
        ("a.md", "It failed in `test_blocked_weights_are_zero[causal]`."),
        ("a.md", "See TestDeep."),
        ("a.ipynb", notebook("def test_blocked_weights_are_zero(): pass")),
    ],
)
def test_a_hidden_test_is_found_by_path_content_or_name(root: Path, path: str, text: str) -> None:
    assert LeakKind.HIDDEN in {leak.kind for leak in leaks_in(root, **{path: text})}


def test_a_hidden_test_in_an_archive_is_found(root: Path) -> None:
    assert leaks_in(root, **{"a.zip": zipped(**{"x/hidden/test_secret.py": b"pass"})})


def test_public_tests_and_empty_files_are_no_leak(root: Path) -> None:
    files = {
        "tests/public/test_both.py": PUBLIC,
        "tests/public/__init__.py": "",
        "a.md": "test_shape in TestShapes",
    }
    assert leaks_in(root, **files) == []


def test_a_folder_is_searched_like_a_mapping(root: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".a").write_text(FILL)
    assert [leak.path for leak in find_leaks(tmp_path, root / "solutions", root / "tests/hidden")] == [
        "deep/.a"
    ]


SHIPPED = {
    "a.py": 'def f(x):\n    """Words, "quoted" (and more)."""\n    return [x, -1]  # done\n',
    "b.md": "# Title\n\nSome *words* and `code`.\n\n    indented = 1\n",
    "c.ipynb": notebook(["x = 1\n", "y = 2 # two"]),
    "d.toml": 'name = "x"\npoints = 3\n',
}


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_any_solution_line_anywhere_in_a_shipped_file_is_found(root: Path, data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(solution_lines(root / "solutions")))
    name = data.draw(st.sampled_from(sorted(SHIPPED)))
    position = data.draw(st.integers(0, len(SHIPPED[name])))
    space = data.draw(st.sampled_from(["", " ", "\n", "\n        ", "\t"]))
    text = SHIPPED[name][:position] + space + line.text + space + SHIPPED[name][position:]
    assert leaks_in(root, **SHIPPED) == []
    assert any(
        line.text in leak.detail for leak in leaks_in(root, **{**SHIPPED, name: text}) if leak.path == name
    )
