"""Results as files: one ``result.json`` a submission and one ``scores.csv`` for the class."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

from pydantic import ValidationError

from grader.errors import UsageError
from grader.results import Result, Status, overridden
from grader.store.writing import name_aside, writing
from grader.text import figure

SUBMISSIONS = "submissions"
RESULT = "result.json"
SCORES = "scores.csv"
FAULTS = "faults.log"
OVERRIDES = "overrides.csv"

_LONGEST_NAME = 255  # bytes, on every common disk

# A spreadsheet takes a cell that starts with one of these for a formula and runs it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


class ResultsError(UsageError):
    """The results in a folder cannot be read; the message says why and what to try."""


def submission_folder(out: Path, submission_id: str) -> Path:
    """Where everything about one submission is written.

    Raises ValueError when the id is not the name of one folder.
    """
    if "\0" in submission_id or submission_id == ".." or PurePath(submission_id).name != submission_id:
        raise ValueError(
            f"{submission_id!r} cannot name a folder: an id is one part of a path, not '.' or '..'"
        )
    if not submission_id:
        raise ValueError("'' cannot name a folder: an id has at least one character")
    return out / SUBMISSIONS / _short_enough(submission_id)


def _short_enough(name: str) -> str:
    """``name``, or where no disk would take it, its start and a hash: bytes spelled out make it long."""
    encoded = name.encode("utf-8", "surrogatepass")
    if len(encoded) <= _LONGEST_NAME:
        return name
    start = encoded[: _LONGEST_NAME - 17].decode("utf-8", "ignore")
    return f"{start}-{hashlib.sha256(encoded).hexdigest()[:16]}"


def set_results_aside(out: Path) -> None:
    """Keep an earlier run's results and scores as ``submissions-<UTC time>`` and ``scores-<UTC time>.csv``.

    What a fresh run does not grade must not pass for its own. Raises NotWritten.
    """
    for path in (out / SUBMISSIONS, out / SCORES):
        if path.exists():
            with writing(path):
                path.rename(name_aside(path))


def write_result(out: Path, result: Result) -> Path:
    """Write ``out/submissions/<id>/result.json`` whole or not at all; returns where it is.

    Raises ValueError when the submission's id is not the name of one folder, NotWritten when the
    disk does not take it.
    """
    path = submission_folder(out, result.submission) / RESULT
    write_whole(path, result.model_dump_json(by_alias=True, indent=2) + "\n")
    return path


def note_fault(out: Path, submission_id: str, account: str) -> Path:
    """Append the account of a fault of ours to ``out/faults.log``; returns where it is.

    It is for whoever grades: a traceback may quote hidden tests, which no result may hold.
    Raises NotWritten when the disk does not take it.
    """
    path = out / FAULTS
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with writing(path), path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"=== {submission_id!r} at {now}\n{account.rstrip()}\n\n")
    return path


def write_scores(out: Path, results: Sequence[Result]) -> Path:
    """Write ``out/scores.csv``, one row a submission in the given order; returns where it is.

    A submission that could not be graded for a fault of ours has empty scores, not zeros. The column
    ``overrides`` says what was decided by hand, and what the tests gave there.
    Raises NotWritten when the disk does not take it.
    """
    exercises = list(dict.fromkeys(exercise.name for result in results for exercise in result.exercises))
    text = io.StringIO()
    writer = csv.writer(text)  # lines end in CR LF: with LF alone, a CR inside a cell goes unquoted
    head = [
        "submission",
        "status",
        "score",
        "max_score",
        "bonus_score",
        *exercises,
        "overrides",
        "status_message",
    ]
    writer.writerow(map(cell, head))
    for result in results:
        by_name = {exercise.name: exercise.score for exercise in result.exercises}
        graded = result.status is not Status.INFRASTRUCTURE_ERROR
        scores = [result.score, result.max_score, result.bonus_score, *map(by_name.get, exercises)]
        shown = [figure(points) if points is not None and graded else "" for points in scores]
        shown[1] = figure(result.max_score)
        told = [cell("; ".join(overridden(result))), cell(result.status_message)]
        writer.writerow([cell(result.submission), result.status.value, *shown, *told])
    path = out / SCORES
    write_whole(path, text.getvalue())
    return path


def read_results(out: Path) -> list[Result]:
    """Every ``result.json`` under ``out``, by submission id.

    Raises ResultsError when ``out`` holds no results or one of them cannot be read.
    """
    folder = out / SUBMISSIONS
    if not folder.is_dir():
        raise ResultsError(
            f"{out} holds no results: it has no folder {SUBMISSIONS}. Give the --out of a graded run."
        )
    results = [_read(path) for path in folder.glob(f"*/{RESULT}")]
    return sorted(results, key=lambda result: (result.submission.casefold(), result.submission))


def read_result(out: Path, submission_id: str) -> Result:
    """The ``result.json`` of one submission. Raises ResultsError when there is none that can be read."""
    return _read(submission_folder(out, submission_id) / RESULT)


def _read(path: Path) -> Result:
    try:
        return Result.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise ResultsError(
            f"{path} cannot be read as a result: {first}. Grade that submission again into this folder."
        ) from error


def cell(text: str) -> str:
    """``text`` as a cell that a spreadsheet shows and never runs."""
    return f"'{text}" if _needs_mark(text) else text


def without_formula_mark(text: str) -> str:
    """The text of a cell that scores.csv wrote with an apostrophe before it."""
    return text[1:] if text.startswith("'") and _needs_mark(text[1:]) else text


def _needs_mark(text: str) -> bool:
    # also where there is such a mark already: two different texts must not end up as one cell
    return text.lstrip("'").startswith(_FORMULA_STARTS)


def write_whole(path: Path, text: str) -> None:
    """Replace ``path`` in one step: a reader, or a kill, meets the old file or the new one.

    What a kill leaves is the part, under a name that the next try takes again.
    Raises NotWritten when the disk does not take it.
    """
    part = path.with_name(f".{path.name}.part")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # newline="": what csv and JSON wrote is what is stored, on every platform.
            part.write_text(text, encoding="utf-8", newline="")
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):  # what stopped the writing is what should be told
                part.unlink(missing_ok=True)
            raise
