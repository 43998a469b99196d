"""Intake of single files: encodings, syntax errors in words, and files that are no files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
SELF = "class SelfAttention:\n    pass\n"
CROSS = "class CrossAttention:\n    pass\n"


def read(folder: Path, content: bytes | str, name: str = "self_attention.py") -> Submission:
    """A submission with this file and a sound ``cross_attention.py`` beside it."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_folder(folder)


def read_folder(folder: Path) -> Submission:
    (folder / "cross_attention.py").write_text(CROSS)
    (submission,) = read_submissions(folder, ASSIGNMENT)
    assert submission.homes["CrossAttention"] == "cross_attention.py"  # the others are unaffected
    return submission


NAMED = SELF.replace("pass", "name = 'é'")


@pytest.mark.parametrize(
    "content",
    [
        NAMED.encode(),
        b"\xef\xbb\xbf" + NAMED.encode(),
        NAMED.replace("\n", "\r\n").encode(),
        NAMED.replace("\n", "\r").encode(),
        b"# -*- coding: latin-1 -*-\n" + NAMED.encode("latin-1"),
        b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\n" + NAMED.encode("cp1252"),
    ],
    ids=["utf-8", "bom", "crlf", "cr", "latin-1 cookie", "cookie in line 2"],
)
def test_every_encoding_that_python_reads_is_read_the_same(tmp_path: Path, content: bytes) -> None:
    stored = read(tmp_path / "a", content).files["self_attention.py"]
    namespace: dict[str, type] = {}
    exec(compile(stored, "self_attention.py", "exec"), namespace)
    assert vars(namespace["SelfAttention"])["name"] == "é"
    assert stored.decode("utf-8").endswith(NAMED)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (SELF.encode("utf-16"), "is saved as UTF-16 or UTF-32, which Python does not read. Save it again"),
        (SELF.encode("utf-32"), "is saved as UTF-16 or UTF-32"),
        (SELF.encode("utf-16-le"), "contains NUL bytes"),
        (SELF.encode() + b"\0", "contains NUL bytes"),
        (b"# one\n# two\n" + NAMED.encode("latin-1"), "is not UTF-8 text: byte 0xe9 in line 4"),
        (b"# coding: klingon\n" + SELF.encode(), "cannot be read as text: unknown encoding"),
        (b"# coding: rot13\n" + SELF.encode(), "cannot be read as text"),
        (b"# coding: punycode\n" + SELF.encode(), "declares the encoding punycode"),
        (b"", "is empty. Check that it was saved"),
        (b" \n\n", "is empty"),
        ("class SelfAttention(\n", "is not valid Python: '(' was never closed in line 1, column 20: `class"),
        ("class SelfAttention:\n  x = 1\n    y = 2\n", "the indentation does not fit"),
        ("class SelfAttention:\nx = 1\n", "the indentation does not fit"),
        ("if 1:\n        x = 1\n\ty = 2\n", "tabs and spaces are mixed in the indentation in line 3"),
        ("x = " + "-" * 100_000 + "1\n", "is nested too deeply"),
        ("x = 1" + " + 1" * 100_000 + "\n", "is nested too deeply"),
        ("x = " + "(" * 300 + "\n", "too many nested parentheses"),
        ("x = " + "9" * 5000 + "\n", "is not valid Python"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_why_and_what_to_try(
    tmp_path: Path, content: bytes | str, words: str
) -> None:
    submission = read(tmp_path / "a", content)
    assert submission.problems["SelfAttention"].startswith("self_attention.py ")
    assert words in submission.problems["SelfAttention"]
    assert "SelfAttention" not in submission.homes


@pytest.mark.parametrize(
    "name",
    [
        "Self_Attention.py",
        "self_attention (1).py",
        "self_attention-1.py",
        "self_attention (2) (1).PY",
        "self attention - Copy.py",
        "SelfAttention.py.txt",
    ],
)
def test_a_broken_file_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    assert f"{name} is not valid Python" in read(tmp_path / "a", "x = (\n", name).problems["SelfAttention"]


def test_a_broken_file_is_known_by_the_class_in_it(tmp_path: Path) -> None:
    submission = read(tmp_path / "a", SELF + "x = (\n", "homework.py")
    assert "homework.py is not valid Python" in submission.problems["SelfAttention"]
    assert "was not handed in" in submission.problems["MultiHeadAttention"]


def test_a_broken_file_that_concerns_no_exercise_is_ignored(tmp_path: Path) -> None:
    submission = read(tmp_path / "a", "x = (\n", "scratch.py")
    assert "scratch.py" not in submission.problems["SelfAttention"]
    assert submission.files.keys() == {"cross_attention.py"}


def test_a_control_character_cannot_reach_the_terminal(tmp_path: Path) -> None:
    problem = read(tmp_path / "a", "x = ( \x1b[2J\n").problems["SelfAttention"]
    assert problem.isprintable()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(SELF)
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "self_attention.py").symlink_to(tmp_path / "secret.py")
    (folder / "other.py").symlink_to(tmp_path / "secret.py")
    (folder / "inner").symlink_to(tmp_path)
    submission = read_folder(folder)
    assert "self_attention.py is a link" in submission.problems["SelfAttention"]
    assert submission.files.keys() == {"cross_attention.py"}


def test_a_link_in_place_of_a_submission_is_not_followed(tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "self_attention.py").write_text(SELF)
    (tmp_path / "class" / "mallory").symlink_to(tmp_path / "class" / "alice")
    (tmp_path / "class" / "eve.py").symlink_to(tmp_path / "class" / "alice" / "self_attention.py")
    told = {each.id: each.unreadable or "" for each in read_submissions(tmp_path / "class", ASSIGNMENT)}
    assert told["alice"] == told["bob"] == ""
    assert "is a link" in told["mallory"]
    assert "is a link" in told["eve.py"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_pipe_or_socket_is_not_waited_for(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    monkeypatch.chdir(folder)  # a socket's path must be short
    if kind == "fifo":
        os.mkfifo("self_attention.py")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("self_attention.py")
    assert "is not a regular file" in read_folder(folder).problems["SelfAttention"]


def test_a_folder_with_the_name_of_a_file_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "self_attention.py"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(SELF)
    assert read_folder(tmp_path / "a").homes["SelfAttention"] == "mine.py"


def test_a_file_that_may_not_be_opened_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really_open = os.open

    def refuse(path: Path, *arguments: int) -> int:
        if Path(path).name == "self_attention.py":
            raise PermissionError(13, "Permission denied")
        return really_open(path, *arguments)

    monkeypatch.setattr("grader.submissions.disk.os.open", refuse)
    problem = read(tmp_path / "a", SELF).problems["SelfAttention"]
    assert "self_attention.py could not be opened: permission denied" in problem


def test_a_source_file_of_more_than_a_mebibyte_is_refused(tmp_path: Path) -> None:
    submission = read(tmp_path / "a", SELF + "#" * 1024 * 1024)
    assert "self_attention.py is larger than 1 MiB" in submission.problems["SelfAttention"]


def test_all_files_together_have_a_limit(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    for number in range(17):
        (folder / f"data_{number:02}.py").write_bytes(b"#" * (1024 * 1024 - 1))
    assert "files before it are too large" in read(folder, SELF).problems["SelfAttention"]


@pytest.mark.parametrize("name", ["venv", "node_modules", ".ipynb_checkpoints", "env", "1/2/3/4/5/6/7"])
def test_files_that_are_not_the_students_work_are_not_searched(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "a" / name
    inner.mkdir(parents=True)
    (inner / "self_attention.py").write_text(SELF)
    if name == "env":
        (inner / "pyvenv.cfg").touch()
    submission = read_folder(tmp_path / "a")
    assert "SelfAttention" not in submission.homes
    assert ("deep were not looked into" in submission.problems["SelfAttention"]) == ("/" in name)


def test_a_folder_of_too_many_files_is_cut_short(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    for number in range(2001):
        (folder / f"m{number}.py").touch()
    assert "Only the first 2000 code files" in read(folder, SELF).problems["SelfAttention"]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_name_that_spells_out_another_has_an_id_of_its_own(tmp_path: Path) -> None:
    for name, text in {"ana\udcff": SELF, "ana\\xff": f"{SELF}# hers\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "self_attention.py").write_text(text)
    found = {one.id: one.files["self_attention.py"] for one in read_submissions(tmp_path, ASSIGNMENT)}
    assert found == {"ana\\xff": f"{SELF}# hers\n".encode(), "ana\\xff (2)": SELF.encode()}
