"""The three ways to run a candidate, and one submission to run each way."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.candidate.interface import Candidate
from grader.candidate.local import local_candidate
from grader.sandbox.isolated import isolated_candidate
from grader.sandbox.launch import ColdStarter, Launcher, WarmHost
from grader.sandbox.levels import warm_start_possible

KINDS = [
    "local",
    pytest.param("warm", marks=pytest.mark.skipif(not warm_start_possible(), reason="there is no safe fork")),
    "cold",
]
SAMPLES = Path(__file__).parent / "candidates"
CLASSES = ("Affine", "Dropping", "Spoiling", "Sharing", "Hiding", "Cut", "Plain", "NotConstructed")
FUNCTIONS = ("echo", "layout", "spoil", "strange", "unspeakable", "beyond", "fail", "attend", "by_hand")
FILES = {
    "math.py": "def root_of_four():\n    import math\n    return math.sqrt(4)\n\nsqrt = str\n",
    "first_part.py": "import second_part\n\ndef first():\n    return second_part.STAMP\n",
    "second_part.py": "import time\nSTAMP = time.time_ns()\n\ndef second():\n    return STAMP\n",
    "broken_file.py": "import time\nraise ValueError(time.time_ns())\n",
    "unfinished_file.py": "def unfinished(:\n    pass\n",
    "functions_file.py": (SAMPLES / "functions_file.py").read_text(),
}
HOMES = {
    **dict.fromkeys((*CLASSES, *FUNCTIONS, "multiply", "NUMBER", "absent", "never_asked_before"), "zoo.py"),
    "root_of_four": "math.py",
    "first": "first_part.py",
    "second": "second_part.py",
    "broken_one": "broken_file.py",
    "broken_other": "broken_file.py",
    "unfinished": "unfinished_file.py",
    **dict.fromkeys(("product", "draw", "draw_mesh", "open_figures"), "functions_file.py"),
}
REFUSED = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
)


@contextlib.contextmanager
def open_zoo(kind: str, folder: Path) -> Iterator[Candidate]:
    """The submission around zoo.py, written to ``folder``, as a candidate of that kind."""
    sources = {file.name: file.read_text() for file in (SAMPLES / "zoo.py", SAMPLES / "helper.py")}
    for name, text in {**sources, **FILES}.items():
        (folder / name).write_text(text)
    settings: Any = {"refused": {"attend": REFUSED}, "problems": {"unread": "The file is not text."}}
    if kind == "local":
        with _imports_forgotten(folder):
            yield local_candidate(folder, HOMES, **settings)
        return
    launcher: Launcher = WarmHost() if kind == "warm" else ColdStarter()
    files = {file.name: file.read_bytes() for file in folder.glob("*.py")}
    candidate, _ = isolated_candidate(launcher, files, HOMES, **settings)
    try:
        yield candidate
    finally:
        candidate.close()
        launcher.close()


@contextlib.contextmanager
def _imports_forgotten(folder: Path) -> Iterator[None]:
    path = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(folder) in str(getattr(module, "__file__", "")):
                del sys.modules[name]


def same(left: Any, right: Any) -> bool:
    """Equal in value and in type, all the way down; NaN equals NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or (left != left and right != right)
