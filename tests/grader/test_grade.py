"""``grade`` as an instructor runs it: a class goes in, scores and results come out."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.grader.project import (
    ROOT,
    Project,
    Ran,
    copied,
    hand_in,
    journal,
    points,
    results,
    verdicts,
)

Graded = tuple[Ran, Path]
EXERCISES = ("self_attention", "cross_attention", "split_heads", "multi_head_attention")
ALL = (25.0, 25.0, 10.0, 40.0)
SELF = (ROOT / "solutions/self_attention.py").read_text()
FIRST_LINE = "q, k, v = self.W_Q(x)"  # of its forward

# each exercise's points: exact where no judgement is needed, else at least and at most
CLASS: dict[str, tuple[float | tuple[float, float], ...]] = {
    "s01-complete": ALL,
    "s02-unusual": ALL,
    "s03-untouched": (0, 0, 0, 0),
    "s04-no-scaling": ((1, 20), 25, 10, 40),
    "s05-mask-inverted": (25, (1, 20), 0, 0),
    "s06-heads-mixed-up": (25, 25, (0, 5), (1, 32)),
    "s07-syntax-error": (25, 0, 10, 40),
    "s08-endless-loop": (0, 25, 10, 40),
    "s09-notebook.ipynb": ALL,
    "s10-zip.zip": (25, 25, 10, (30, 39)),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project with all its tests, and less patience for endless loops."""
    project = copied(tmp_path_factory.mktemp("whole") / "root", suite=None)
    project.change("assignment.toml", "call_seconds = 10 ", "call_seconds = 5 ")
    return project


@pytest.fixture(scope="module")
def sample_class(whole: Project) -> Graded:
    out = whole.root / "graded"
    return whole.run("grade", "samples/class", "--out", out, "--jobs", "2", "--seed", "7"), out


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project with a few hidden tests, for what does not depend on which they are."""
    return copied(tmp_path_factory.mktemp("small") / "root")


def test_a_class_is_graded_in_one_go(sample_class: Graded) -> None:
    ran, out = sample_class
    assert ran.status == 0
    assert set(results(out)) == set(CLASS)
    assert [line.split()[0] for line in ran.out.splitlines() if re.match(r"s\d\d-", line)] == list(CLASS)


@pytest.mark.parametrize("submission", CLASS)
def test_each_exercise_of_a_sample_earns_what_it_deserves(sample_class: Graded, submission: str) -> None:
    earned = points(results(sample_class[1])[submission])
    for exercise, expected in zip(EXERCISES, CLASS[submission], strict=True):
        least, most = expected if isinstance(expected, tuple) else (expected, expected)
        assert least <= earned[exercise] <= most, exercise


def test_the_total_is_the_sum_of_the_exercises(sample_class: Graded) -> None:
    for result in results(sample_class[1]).values():
        earned = result["score"] + result["bonus_score"]
        assert earned == pytest.approx(sum(points(result).values()), abs=0.021)
        assert result["max_score"] == 100


@pytest.mark.parametrize(
    ("submission", "words"),
    [
        ("s05-mask-inverted", "MultiHeadAttention was not handed in"),
        ("s07-syntax-error", "cross_attention.py is not valid Python: expected ':' in line 61"),
    ],
)
def test_what_cannot_be_examined_is_said_in_words(sample_class: Graded, submission: str, words: str) -> None:
    result = results(sample_class[1])[submission]
    assert result["status"] == "graded"
    assert words in result["status_message"]
    assert words[:30] in sample_class[0].out


def test_results_keep_to_the_published_schema(sample_class: Graded) -> None:
    schema = json.loads((ROOT / "docs/result.schema.json").read_text())
    for result in results(sample_class[1]).values():
        jsonschema.validate(result, schema)
        assert len({test["id"] for test in result["tests"]}) == len(result["tests"]) > 100


def test_journal_and_scores_have_one_line_a_submission(sample_class: Graded) -> None:
    out = sample_class[1]
    assert sorted(line["submission"] for line in journal(out)) == list(CLASS)
    with (out / "scores.csv").open(newline="") as file:
        rows = {row["submission"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(CLASS)
    for name, result in results(out).items():
        assert float(rows[name]["score"]) == result["score"]


def test_no_message_shows_the_source_of_a_test(sample_class: Graded) -> None:
    ours = re.compile(r"def test_|tests/support|grader/|Traceback|assert ")
    shown = [test["message"] for result in results(sample_class[1]).values() for test in result["tests"]]
    assert not [message for message in shown if ours.search(message)]


@pytest.fixture(scope="module")
def alone(whole: Project) -> Ran:
    """One of the class by itself, with other numbers."""
    options = ("--seed", "8", "--json", "--require-isolation", "process")
    return whole.run("grade", "samples/class/s06-heads-mixed-up", "--out", "alone", *options)


def test_alone_and_with_another_seed_a_submission_fares_the_same(sample_class: Graded, alone: Ran) -> None:
    in_class = results(sample_class[1])["s06-heads-mixed-up"]
    assert [statuses(result) for result in alone.document] == [statuses(in_class)]
    assert alone.document[0]["score"] == in_class["score"]
    assert alone.document[0]["environment"]["seed"] == 8


def test_json_is_the_result_that_was_written(whole: Project, alone: Ran) -> None:
    assert alone.document == list(results(whole.root / "alone").values())
    assert alone.document[0]["environment"]["isolation"] in ("process", "confined", "namespaced")


def statuses(result: dict[str, Any]) -> dict[str, str]:
    """Test -> status: what the points are made of."""
    return {test["id"]: test["status"] for test in result["tests"]}


# --- submissions that misbehave -------------------------------------------------------------------


def in_forward(statement: str, head: str = "") -> str:
    """The solution of self-attention with a statement at the start of its forward."""
    return head + SELF.replace(FIRST_LINE, f"{statement}\n        {FIRST_LINE}")


LOSE_SELF_ATTENTION = {
    "os-exit": (in_forward("os._exit(0)", "import os\n"), "ended the process itself (exit code 0)"),
    "segfault": (in_forward("ctypes.string_at(0)", "import ctypes\n"), "segmentation fault"),
    "system-exit": (in_forward("raise SystemExit(0)"), "SystemExit: 0"),
    "quits-on-import": (f"raise SystemExit\n{SELF}", "SystemExit"),
    "hangs-on-import": (f"{SELF}\nwhile True:\n    pass\n", "No answer within 3 s"),
    "does-not-import": (f"import numpyy\n{SELF}", "No module named 'numpyy'"),
    "class-missing": (None, "SelfAttention was not handed in"),
    "class-misspelt": (SELF.replace("class SelfAttention", "class Selfattention"), "Selfattention"),
}
EARN_ALL = {
    "prints-a-flood": in_forward("for _ in range(5): print('x' * 1_000_000)"),
    "leaves-a-process": "import contextlib, os, time\n"
    f"with contextlib.suppress(OSError):\n    if os.fork() == 0:\n        time.sleep(1000)\n{SELF}",
}
ODD_NAMES = ("-rf", "=1+1, two", "Zoë (2)\n", "a\u202eb", os.fsdecode(b"caf\xe9"), os.fsdecode(b"\xe9" * 200))


@pytest.fixture(scope="module")
def misbehaving(small: Project) -> Graded:
    folder = small.root / "misbehaving"
    for name, text in [*((name, text) for name, (text, _) in LOSE_SELF_ATTENTION.items()), *EARN_ALL.items()]:
        hand_in(folder / name, self_attention=text)
    for name in ODD_NAMES:
        hand_in(folder / name)
    (folder / "nothing").mkdir()
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    out = small.root / "misbehaved"
    return small.run("grade", folder, "--out", out, "--jobs", "2", "--seed", "3"), out


@pytest.mark.parametrize("name", LOSE_SELF_ATTENTION)
def test_what_breaks_one_exercise_costs_only_that(misbehaving: Graded, name: str) -> None:
    result = results(misbehaving[1])[name]
    assert result["status"] == "graded"
    assert tuple(points(result).values()) == (0, *ALL[1:])
    said = [result["status_message"], *(test["message"] for test in result["tests"])]
    assert LOSE_SELF_ATTENTION[name][1] in "\n".join(said)


@pytest.mark.parametrize("name", EARN_ALL)
def test_a_right_answer_that_misbehaves_earns_all(misbehaving: Graded, name: str) -> None:
    assert tuple(points(results(misbehaving[1])[name]).values()) == ALL


def test_a_flood_of_output_is_cut_off_and_told(misbehaving: Graded) -> None:
    message = results(misbehaving[1])["prints-a-flood"]["status_message"]
    printed = re.search(r"printed ([\d,]+) bytes; 64 KiB", message)
    assert printed is not None
    assert int(printed[1].replace(",", "")) >= 20_000_000
    assert (misbehaving[1] / "submissions/prints-a-flood/result.json").stat().st_size < 100_000


@pytest.mark.parametrize(("name", "words"), [("nothing", "holds no code"), ("broken.zip", "not a zip")])
def test_what_cannot_be_read_is_rejected_with_a_reason(misbehaving: Graded, name: str, words: str) -> None:
    result = results(misbehaving[1])[name]
    assert (result["status"], result["score"]) == ("rejected", 0)
    assert words in result["status_message"]
    assert {test["status"] for test in result["tests"]} == {"not_run"}


def test_odd_names_are_graded_and_shown_safely(misbehaving: Graded) -> None:
    ran, out = misbehaving
    full = {name for name, result in results(out).items() if result["score"] == 100}
    assert full - set(EARN_ALL) == {name.replace("\udce9", "\\xe9") for name in ODD_NAMES}
    assert "\u202e" not in ran.both
    rows = (out / "scores.csv").read_text()
    assert '"\'=1+1, two"' in rows
    assert "\n'-rf" in rows


def test_misbehaviour_is_no_fault_of_ours_and_leaves_nothing_running(
    small: Project, misbehaving: Graded
) -> None:
    assert misbehaving[0].status == 0
    assert "Traceback" not in misbehaving[0].both
    assert small.is_quiet()


# --- the same again, and in parts -----------------------------------------------------------------


@pytest.fixture(scope="module")
def quick_class(small: Project) -> Path:
    folder = small.root / "quick"
    for number in range(4):
        hand_in(folder / f"right-{number}")
    hand_in(folder / "stubs", ROOT / "exercises")
    hand_in(folder / "unscaled", self_attention=SELF.replace(" / math.sqrt(self.d_k)", ""))
    return folder


def test_shards_part_the_class_and_repeat_its_results(small: Project, quick_class: Path) -> None:
    together = ("grade", quick_class, "--seed", "3", "--out")
    parts = [small.start(*together, small.root / str(part), "--shard", f"{part}/3") for part in (1, 2, 3)]
    whole = small.run(*together, small.root / "together")
    assert [whole.status, *(part.wait(120) for part in parts)] == [0, 0, 0, 0]
    graded = [verdicts(small.root / str(part)) for part in (1, 2, 3)]
    assert [len(part) for part in graded] == [2, 2, 2]
    assert graded[0] | graded[1] | graded[2] == verdicts(small.root / "together")


def test_solutions_earn_everything_and_stubs_nothing(small: Project, quick_class: Path) -> None:
    scores = {name: result["score"] for name, result in results(small.root / "together").items()}
    assert scores.pop("stubs") == 0
    assert 0 < scores.pop("unscaled") < 100
    assert set(scores.values()) == {100}


def test_progress_goes_line_by_line_to_standard_error(sample_class: Graded) -> None:
    lines = sample_class[0].err.splitlines()
    assert [line[:7] for line in lines] == [f"[{number:>2}/10]" for number in range(1, 11)]
    assert "\x1b" not in sample_class[0].both
