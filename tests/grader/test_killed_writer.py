"""Killed between any two instructions of the writing itself, the journal is whole up to there."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NoReturn

import pytest

from grader.results import Environment, Result, Status
from grader.store.files import SCORES, read_results, write_result, write_scores
from grader.store.journal import NAME, Journal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it forks")

KILLS = 250
LONGEST_SECONDS = 0.008  # a few submissions
HERE = Environment(python="3.11", torch="2.13", isolation="process", device="cpu", seed=1)


def result(number: int) -> Result:
    return Result(
        submission=f"s{number}",
        assignment="attention",
        status=Status.GRADED,
        status_message=f"result {number} " * (number % 40),
        score=number % 100,
        max_score=100.0,
        environment=HERE,
        suite="suite",
        source="source",
        started_at=datetime(2026, 1, 2, tzinfo=UTC),
        duration_s=0.5,
    )


@dataclass
class Killed:
    """What was told by the writers, one after another, and what is left of their work."""

    out: Path
    seed: int
    announced: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Writer after writer goes on where the one before was killed."""
    seed = int(os.environ.get("HEADSTART_KILL_SEED") or random.SystemRandom().randrange(2**31))
    run, draw = Killed(tmp_path_factory.mktemp("writer"), seed), random.Random(seed)
    for _ in range(KILLS):
        told = write_until_killed(run.out, draw.uniform(0, LONGEST_SECONDS))
        with Journal.resume(run.out) as journal:
            run.lost += [f"s{number}" for number in told if f"s{number}" not in journal.results]
        run.announced += told
    return run


def write_until_killed(out: Path, seconds: float) -> list[int]:
    """Fork a grader that writes without end and kill it so long after it began; what it had told as done."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        write_without_end(out, writable)
    os.close(writable)
    with os.fdopen(readable, "rb") as stream:
        stream.readline()  # it has begun
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        told = [int(line) for line in stream if line.endswith(b"\n")]
    os.waitpid(pid, 0)
    return told


def write_without_end(out: Path, told: int) -> NoReturn:
    """What a run does from its resuming on, with nothing to grade in between."""
    with suppress(BaseException):
        journal = Journal.resume(out)
        os.write(told, b"begun\n")
        for done in journal.results.values():
            if not (out / "submissions" / done.submission / "result.json").exists():
                write_result(out, done)
        for number in count(len(journal.results)):
            journal.append(result(number))
            os.write(told, b"%d\n" % number)
            write_result(out, result(number))
            write_scores(out, [result(number)])
    os._exit(1)


def test_nothing_that_was_told_as_done_is_lost(killed: Killed) -> None:
    assert killed.lost == [], killed.seed
    assert len(killed.announced) > KILLS / 20, killed.seed  # on a busy machine each gets less far


def test_the_journal_is_the_beginning_of_an_undisturbed_one(killed: Killed) -> None:
    lines = (killed.out / NAME).read_text().splitlines()
    assert lines == [result(number).model_dump_json(by_alias=True) for number in range(len(lines))], (
        killed.seed
    )
    # a kill between a line and the word of it leaves one more line than was told
    assert len(killed.announced) <= len(lines) <= len(killed.announced) + KILLS, killed.seed


def test_every_result_file_is_whole(killed: Killed) -> None:
    assert {int(found.score) for found in read_results(killed.out)} <= set(range(100))
    assert [found for found in read_results(killed.out) if found != result(int(found.submission[1:]))] == []


def test_the_next_writing_takes_away_what_a_kill_left(killed: Killed) -> None:
    with Journal.resume(killed.out) as journal:
        for done in journal.results.values():
            write_result(killed.out, done)
    write_scores(killed.out, list(journal.results.values()))
    assert list(killed.out.rglob("*.part")) == []
    assert (killed.out / SCORES).read_text().count("\n") == len(journal.results) + 1
