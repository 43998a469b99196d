"""Intake of files that would keep a parser busy: bounded in time and memory, and no neighbour's loss."""

from __future__ import annotations

import faulthandler
import os
import sys
import zipfile
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions, sandboxed_parse
from grader.submissions.sandboxed_parse import Unread, each

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
SELF = "class SelfAttention:\n    pass\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reading is bounded where forks are safe")


def read_class(folder: Path, hostile: str) -> dict[str, Submission]:
    """That file, with an honest submission before and after it."""
    for name, text in {"alice": SELF, "mallory": hostile, "zoe": SELF}.items():
        (folder / name).mkdir()
        (folder / name / "self_attention.py").write_text(text)
    return {submission.id: submission for submission in read_submissions(folder, ASSIGNMENT)}


def honest_are_read(found: dict[str, Submission]) -> bool:
    return all("SelfAttention" in found[name].homes for name in ("alice", "zoe"))


def test_a_source_that_takes_for_ever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_parse, "_SECONDS", 0)
    monkeypatch.setattr(sandboxed_parse, "_BYTES", 8 * sandboxed_parse._BYTES)
    found = read_class(tmp_path, f"{SELF}a = [{'-a,' * 300_000}]\n")
    assert "of processor time to read" in str(found["mallory"].unreadable)
    assert honest_are_read(found)


def test_a_source_that_takes_all_memory_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_parse, "_BYTES", 64 * sandboxed_parse.MIB)
    found = read_class(tmp_path, f"{SELF}a = [{'a,' * 500_000}]\n")
    assert found["mallory"].unreadable
    assert honest_are_read(found)


def test_a_reader_that_holds_much_makes_way_for_a_fresh_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_parse, "_USED_UP", 1)
    kept: list[bytes] = []

    def hoard(number: int) -> int:
        kept.append(bytes(2**26))  # more than free memory of this process could serve
        return os.getpid()

    assert len(set(each(hoard, [1, 2, 3]))) == 3
    assert not kept  # nothing of it in this process


def test_a_parser_that_crashes_costs_one_submission() -> None:
    def read(number: int) -> int:
        if number == 2:
            faulthandler.disable()  # pytest's account of it is not wanted here
            os.abort()
        return number

    first, crashed, last = each(read, [1, 2, 3])
    assert (first, last) == (1, 3)
    assert isinstance(crashed, Unread)
    assert "crashes" in crashed.reason


def test_a_fault_of_the_readers_own_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(each(lambda number: 1 // number, [1, 0]))


def test_nothing_stays_when_nobody_wants_the_rest() -> None:
    for _ in each(lambda number: number, range(100_000)):
        break
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_names_longer_than_a_disk_takes_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mallory.zip", "w") as archive:
        archive.writestr("self_attention.py", SELF)
        archive.writestr(f"x{'-1' * 30_000}.py", "")
    (found,) = read_submissions(tmp_path / "mallory.zip", ASSIGNMENT)
    assert "a name that is longer than" in str(found.unreadable)
    assert len(str(found.unreadable)) < 600


def test_a_message_quotes_no_more_of_a_name_than_can_be_read(tmp_path: Path) -> None:
    found = read_class(tmp_path, f"class Self{'_' * 500_000}Attention:\n    pass\n")
    assert "spelled differently" in str(found["mallory"].unreadable)
    assert len(str(found["mallory"].unreadable)) < 2000
