"""Intake of anything at all: it may be refused, it must not crash."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
CODE = b"import helper\nclass SelfAttention:\n    def f(self): return helper\n"


def read(name: str, content: bytes) -> Submission:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        (submission,) = read_submissions(Path(folder) / name, ASSIGNMENT)
    return submission


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("alice/self_attention.py", content)
    return buffer.getvalue()


def notebook(*sources: object) -> bytes:
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


def assert_sound(submission: Submission) -> None:
    """Every name is at home in a file or has a problem, and what was kept is importable text."""
    left_out = ASSIGNMENT.homes.keys() - submission.homes.keys() - submission.problems.keys()
    assert left_out <= {name for exercise in ASSIGNMENT.bonus for name in exercise.defines}
    assert not submission.homes.keys() & submission.problems.keys()
    assert set(submission.homes.values()) <= submission.files.keys() == submission.originals.keys()
    assert (submission.unreadable is None) == bool(submission.homes)
    assert all(problem.isprintable() for problem in submission.problems.values())
    assert len(submission.source) == 64


def spoiled(content: bytes) -> st.SearchStrategy[bytes]:
    """``content`` with a few bytes replaced, left out or put in."""
    piece = st.tuples(st.integers(0, len(content)), st.integers(0, 4), st.binary(max_size=4))

    def spoil(pieces: list[tuple[int, int, bytes]]) -> bytes:
        result = content
        for start, length, new in pieces:
            result = result[:start] + new + result[start + length :]
        return result

    return st.lists(piece, min_size=1, max_size=4).map(spoil)


@pytest.mark.parametrize("name", ["self_attention.py", "work.ipynb", "work.zip", "work.py.txt"])
@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=300))
def test_random_bytes_never_crash_the_intake(name: str, content: bytes) -> None:
    assert_sound(read(name, content))


@settings(max_examples=150, deadline=None)
@given(content=spoiled(CODE))
def test_a_damaged_source_file_never_crashes_the_intake(content: bytes) -> None:
    assert_sound(read("self_attention.py", content))


@settings(max_examples=150, deadline=None)
@given(content=spoiled(zipped(CODE)))
def test_a_damaged_archive_never_crashes_the_intake(content: bytes) -> None:
    assert_sound(read("work.zip", content))


@settings(max_examples=100, deadline=None)
@given(content=spoiled(notebook("%time\nhelper = 1", CODE.decode(), "SelfAttention.g = 1")))
def test_a_damaged_notebook_never_crashes_the_intake(content: bytes) -> None:
    assert_sound(read("work.ipynb", content))


@settings(max_examples=100, deadline=None)
@given(cells=st.lists(st.text(max_size=40) | st.integers() | st.lists(st.text(max_size=5)), max_size=5))
def test_cells_of_anything_never_crash_the_intake(cells: list[object]) -> None:
    assert_sound(read("work.ipynb", notebook(*cells, CODE.decode())))
