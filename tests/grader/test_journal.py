"""The journal: what was finished stays finished, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from grader.results import Environment, Result, Status
from grader.store.journal import NAME, Journal, JournalError
from grader.store.writing import NotWritten

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and resource limits are POSIX")
ROOT = Path(__file__).resolve().parents[2]
HERE = Environment(python="3.11", torch="2.13", isolation="process", device="cpu", seed=1)


def result(
    submission: str, *, status: Status = Status.GRADED, score: float = 50.0, message: str = ""
) -> Result:
    return Result(
        submission=submission,
        assignment="attention",
        status=status,
        status_message=message,
        score=score,
        max_score=100.0,
        environment=HERE,
        suite="suite",
        source=f"source of {submission}",
        started_at=datetime(2026, 1, 2, tzinfo=UTC),
        duration_s=0.5,
    )


def record(out: Path, *submissions: str) -> Path:
    with Journal.start(out) as journal:
        for submission in submissions:
            journal.append(result(submission))
    return out / NAME


def resumed(out: Path) -> tuple[list[str], list[str]]:
    """The submissions and the warnings found on resuming ``out``."""
    with Journal.resume(out) as journal:
        return list(journal.results), journal.warnings


def test_a_result_reads_back_as_it_was_written(tmp_path: Path) -> None:
    written = result("ann\u2028lise\n", message="zwei\nZeilen, \x1b[31m und \U0001f600")
    with Journal.start(tmp_path / "deep" / "out") as journal:
        journal.append(written)
    with Journal.resume(tmp_path / "deep" / "out") as journal:
        assert journal.results == {written.submission: written}
        assert journal.warnings == []


def test_names_that_are_not_utf8_are_recorded_and_found_again(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    with Journal.start(tmp_path) as journal:
        journal.append(result(name).model_copy(update={"source": "s"}))
        assert journal.finished(name, suite="suite", source="s") is not None


def test_each_result_is_on_disk_as_one_line_before_the_next(tmp_path: Path) -> None:
    with Journal.start(tmp_path) as journal:
        for count, name in enumerate(["ann", "bob", "cem"], start=1):
            journal.append(result(name))
            assert (tmp_path / NAME).read_bytes().count(b"\n") == count


def test_a_fresh_run_keeps_the_old_journals(tmp_path: Path) -> None:
    old = [record(tmp_path, name).read_bytes() for name in ("ann", "bob", "cem")]
    kept = [path.read_bytes() for path in tmp_path.glob("journal-*.jsonl")]
    assert sorted([*kept, (tmp_path / NAME).read_bytes()]) == sorted(old)


def test_an_empty_journal_is_not_worth_keeping(tmp_path: Path) -> None:
    record(tmp_path)
    record(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_resuming_where_nothing_is_starts_afresh(tmp_path: Path) -> None:
    assert resumed(tmp_path / "new") == ([], [])


def test_the_latest_result_of_a_submission_counts(tmp_path: Path) -> None:
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann", score=10.0))
        journal.append(result("ann", score=90.0))
    with Journal.resume(tmp_path) as journal:
        assert [found.score for found in journal.results.values()] == [90.0]


def test_a_mark_keeps_what_the_results_were_then(tmp_path: Path) -> None:
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann", score=10.0))
        mark = journal.mark()
        journal.append(result("ann", score=90.0))
        journal.append(result("bob"))
        found = journal.before(mark)
    assert found is not None
    assert [(id, earlier.score) for id, earlier in found.items()] == [("ann", 10.0)]


def test_a_mark_in_another_journal_is_not_taken_for_one_in_this(tmp_path: Path) -> None:
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann", score=10.0))
        mark = journal.mark()
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann", score=20.0))
        assert journal.before(mark) is None


@pytest.mark.parametrize(
    "tail", [b'{"schema": "headst', b"\xff\x00\x00", b"{\n", b"\0" * 40 + b"\n"], ids=repr
)
def test_a_torn_last_line_is_cut_off_and_told(tmp_path: Path, tail: bytes) -> None:
    path = record(tmp_path, "ann", "bob")
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    found, warnings = resumed(tmp_path)
    assert found == ["ann", "bob"]
    assert path.read_bytes() == whole
    assert "cut short" in warnings[0]


@pytest.mark.parametrize("keep", [1, 100, -1])
def test_cut_anywhere_in_the_last_line_loses_only_that_line(tmp_path: Path, keep: int) -> None:
    path = record(tmp_path, "ann", "bob")
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:keep])
    with Journal.resume(tmp_path) as journal:
        journal.append(result("cem"))
    assert resumed(tmp_path) == (["ann", "cem"], [])


@pytest.mark.parametrize("damage", [b"not json", b'{"schema": "headstart/result/v9"}', b"\xff\xfe"], ids=repr)
def test_a_damaged_line_in_the_middle_is_skipped_told_and_left(tmp_path: Path, damage: bytes) -> None:
    path = record(tmp_path, "ann", "bob", "cem")
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], damage, lines[2], b""]))
    found, warnings = resumed(tmp_path)
    assert found == ["ann", "cem"]
    assert "Line 2" in warnings[0]
    assert damage in path.read_bytes()


def test_a_whole_last_line_of_another_version_is_never_deleted(tmp_path: Path) -> None:
    path = record(tmp_path, "ann")
    later = b'{"schema": "headstart/result/v9"}\n'
    path.write_bytes(path.read_bytes() + later)
    assert resumed(tmp_path)[0] == ["ann"]
    assert path.read_bytes().endswith(later)


@pytest.mark.parametrize(
    ("status", "suite", "source", "reused"),
    [
        (Status.GRADED, "suite", "source of ann", True),
        (Status.REJECTED, "suite", "source of ann", True),
        (Status.INFRASTRUCTURE_ERROR, "suite", "source of ann", False),
        (Status.GRADED, "another suite", "source of ann", False),
        (Status.GRADED, "suite", "another source", False),
    ],
)
def test_only_the_same_suite_and_source_are_finished(
    tmp_path: Path, status: Status, suite: str, source: str, reused: bool
) -> None:
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann", status=status))
        assert (journal.finished("ann", suite=suite, source=source) is not None) is reused
        assert journal.finished("bob", suite=suite, source=source) is None


@posix
@pytest.mark.parametrize("opened", [Journal.start, Journal.resume])
def test_two_graders_cannot_hold_one_folder(tmp_path: Path, opened: Callable[[Path], Journal]) -> None:
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann"))
        with pytest.raises(JournalError, match=r"another grader is writing there\. .*another --out"):
            opened(tmp_path)
    assert resumed(tmp_path)[0] == ["ann"]


@posix
def test_a_forked_child_neither_keeps_nor_breaks_the_lock(tmp_path: Path) -> None:
    with Journal.start(tmp_path):
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        time.sleep(0.1)
        with pytest.raises(JournalError):
            Journal.resume(tmp_path)
    try:
        assert resumed(tmp_path) == ([], [])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file grow beyond ``size`` bytes: a write that crosses it ends half way."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@posix
def test_a_write_that_ends_half_way_leaves_what_was_finished(tmp_path: Path) -> None:
    with Journal.start(tmp_path) as journal:
        journal.append(result("ann"))
        whole = (tmp_path / NAME).read_bytes()
        with file_size_limit(len(whole) + 100), pytest.raises(NotWritten, match="cannot be written"):
            journal.append(result("bob"))
        assert (tmp_path / NAME).read_bytes() == whole
        journal.append(result("cem"))
    assert resumed(tmp_path) == (["ann", "cem"], [])


def test_a_full_disk_is_named_with_what_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal.start(tmp_path) as journal:
        monkeypatch.setattr("grader.store.journal.os.write", full)
        with pytest.raises(NotWritten, match=r"No space left on device\. .*kept: make room.*--resume"):
            journal.append(result("ann"))
        assert journal.results == {}


@pytest.mark.parametrize("opened", [Journal.start, Journal.resume])
def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, opened: Callable[[Path], Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("grader.store.journal.os.open", refused)
    with pytest.raises(JournalError, match=r"journal\.jsonl cannot be written: Permission denied\. Give"):
        opened(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_a_journal_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(JournalError, match="cannot be written"):
        Journal.start(tmp_path / "out")


def test_a_closed_journal_takes_no_more(tmp_path: Path) -> None:
    journal = Journal.start(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append(result("ann"))


def test_a_result_without_a_number_cannot_be_made() -> None:
    with pytest.raises(ValidationError, match="finite"):
        result("ann", score=float("nan"))


@posix
def test_killed_at_any_moment_what_was_announced_is_there(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from test_journal import *\n"
        "journal = Journal.start(Path(sys.argv[1]))\n"
        "for number in range(10**6):\n"
        "    journal.append(result(str(number))); print(number, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE) as grader:
        assert grader.stdout is not None
        announced = [grader.stdout.readline() for _ in range(20)]
        grader.kill()
        announced += grader.stdout.readlines()
    found, warnings = resumed(tmp_path)
    assert [int(number) for number in announced] == [int(number) for number in found][: len(announced)]
    assert len(found) - len(announced) <= 1
    assert len(warnings) <= 1
