"""Reports: files that programs read, and what people see on a terminal or away from one."""

from __future__ import annotations

import csv
import io
import json
import threading
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Literal

import jsonschema  # type: ignore[import-untyped]
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from grader.assignment import load_assignment
from grader.reports.files import (
    ResultsError,
    read_results,
    submission_folder,
    without_formula_mark,
    write_result,
    write_scores,
)
from grader.reports.terminal import Progress, class_table, points_lines, points_table
from grader.reports.text import as_json, figure, one_line, visible
from grader.results import MAX_MESSAGE, Environment, Result, Status, TestStatus, Visibility, schema_text
from grader.scoring import Outcome, Scores, SuiteTest, score
from grader.writing import NotWritten

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = load_assignment(ROOT)
SUITE = [
    SuiteTest(f"{exercise.name}-{visibility}", exercise.name, "parity", Fraction(points), visibility)
    for exercise in ASSIGNMENT.core
    for visibility, points in [
        (Visibility.VISIBLE, exercise.public_points),
        (Visibility.HIDDEN, exercise.points - exercise.public_points),
    ]
]
PASSED = {test.id: Outcome(TestStatus.PASSED) for test in SUITE}
HOSTILE = "eve[bold red]\x1b[2J\x1b]0;title\x07\r\n[ 9/9] eve  100 / 100\u202e\u2066"


def scored(failed: dict[str, str] | None = None) -> Scores:
    """All passed, but for the tests in ``failed``, which say why."""
    wrong = {id: Outcome(TestStatus.FAILED, message) for id, message in (failed or {}).items()}
    return score(SUITE, PASSED | wrong, ASSIGNMENT)


def result(
    submission: str = "ann",
    failed: dict[str, str] | None = None,
    *,
    status: Status = Status.GRADED,
    message: str = "",
    bonus: float = 0.0,
) -> Result:
    scores = scored(failed)
    return Result(
        submission=submission,
        assignment="attention",
        status=status,
        status_message=message,
        score=scores.score,
        max_score=scores.max_score,
        bonus_score=bonus,
        exercises=scores.exercises,
        aspects=scores.aspects,
        tests=scores.tests,
        environment=Environment(python="3.11", torch="2.13", isolation="process", device="cpu", seed=1),
        suite="suite",
        source="source",
        started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        duration_s=0.25,
    )


def shown(renderable: RenderableType, *, width: int = 80, terminal: bool = False) -> str:
    colours: Literal["standard"] | None = "standard" if terminal else None
    screen = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=colours)
    screen.print(renderable)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def rows(out: Path, *results: Result) -> list[dict[str, str]]:
    with write_scores(out, results).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# The canonical form


def test_the_published_schema_is_the_models() -> None:
    assert (ROOT / "docs" / "result.schema.json").read_text(encoding="utf-8") == schema_text()


def test_a_written_result_is_valid_under_the_schema(tmp_path: Path) -> None:
    written = json.loads(write_result(tmp_path, result()).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(json.loads(schema_text()))
    assert list(validator.iter_errors(written)) == []
    assert written["schema"] == "headstart/result/v1"


@pytest.mark.parametrize("change", [{"schema": "v0"}, {"status": "fine"}, {"score": "100"}, {"extra": 1}])
def test_the_schema_refuses_what_is_no_result(change: dict[str, object]) -> None:
    document = json.loads(result().model_dump_json()) | change
    assert not jsonschema.Draft202012Validator(json.loads(schema_text())).is_valid(document)


# Files


@pytest.mark.parametrize(
    "submission", ["ann", "Ann Lee (2)", "学生", ".hidden", "-rf", "a'b\"c", "caf\udce9"]
)
def test_results_read_back_equal_whatever_the_id(tmp_path: Path, submission: str) -> None:
    written = result(submission, {SUITE[0].id: "ünlike\nlines"})
    write_result(tmp_path, written)
    assert read_results(tmp_path) == [written]


@pytest.mark.parametrize("submission", ["", ".", "..", "a/b", "../ann", "/etc", "ann\0"])
def test_an_id_that_is_no_single_folder_is_refused(tmp_path: Path, submission: str) -> None:
    with pytest.raises(ValueError, match="cannot name a folder"):
        submission_folder(tmp_path, submission)


def test_a_result_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_result(tmp_path, result(message="first"))
    path = write_result(tmp_path, result(message="second"))
    assert json.loads(path.read_text(encoding="utf-8"))["status_message"] == "second"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_result(tmp_path, result(message="first"))

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("grader.reports.files.os.replace", fail)
    with pytest.raises(NotWritten, match="disk full"):
        write_result(tmp_path, result(message="second"))
    assert read_results(tmp_path)[0].status_message == "first"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_without_results_is_told_apart_from_an_empty_class(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="holds no results"):
        read_results(tmp_path)


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    path = write_result(tmp_path, result())
    path.write_text("{")
    with pytest.raises(ResultsError, match=r"result\.json cannot be read as a result: .*Grade"):
        read_results(tmp_path)


def test_scores_have_a_row_a_submission_and_a_column_an_exercise(tmp_path: Path) -> None:
    ann, bob = rows(tmp_path, result("ann"), result("Lee, Bob", {SUITE[0].id: "wrong"}))
    assert (ann["submission"], ann["score"], ann["max_score"], ann["split_heads"]) == (
        "ann",
        "100",
        "100",
        "10",
    )
    assert (bob["submission"], bob["score"], bob["self_attention"]) == ("Lee, Bob", "92", "17")
    exercises = list(ASSIGNMENT.exercises)
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
    assert list(ann) == head


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(tmp_path: Path, start: str) -> None:
    text = f"{start}SUM(A1:A9)\rmore"
    (row,) = rows(tmp_path, result(text, message=text))
    assert row["submission"] == f"'{text}"
    shown = text.replace("\r", "\\r")  # a message holds nothing that acts on a screen
    assert row["status_message"] == (shown if start == "\r" else f"'{shown}")


def test_no_two_names_are_one_cell(tmp_path: Path) -> None:
    ids = ["=1", "'=1", "''=1", "'1", "1"]
    cells = [row["submission"] for row in rows(tmp_path, *map(result, ids))]
    assert len(set(cells)) == len(ids)
    assert [without_formula_mark(cell) for cell in cells] == ids


def test_a_fault_of_ours_is_not_a_zero_in_the_scores(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, result(status=Status.INFRASTRUCTURE_ERROR, message="the host died"))
    assert (row["status"], row["score"], row["self_attention"]) == ("infrastructure_error", "", "")


def test_what_a_student_reads_is_bounded_and_acts_on_no_screen() -> None:
    found = result("ann", message="\x1b[2Jone\ntwo\u202e" + "x" * 10_000).status_message
    assert found.startswith("\\x1b[2Jone\ntwo\\u202ex")
    assert len(found) == MAX_MESSAGE
    assert result("ann", message=found).status_message == found


# Text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain ünicode 学生", "plain ünicode 学生"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\r\nb\tc\0", "a\\r\\nb\\tc\\x00"),
        ("c1 \x9b2J", "c1 \\x9b2J"),
        ("\u2028", "\\u2028"),
        ("\udce9", "\\udce9"),
    ],
)
def test_what_acts_on_the_screen_is_written_out(text: str, safe: str) -> None:
    assert visible(text) == safe


def test_lines_are_kept_where_asked_for() -> None:
    assert visible("one\ntwo\x1b", keep="\n") == "one\ntwo\\x1b"


@pytest.mark.parametrize("width", [0, 1, 5, 6, 40])
@pytest.mark.parametrize("text", ["\n  a longer line\nand more", "学生学生学生学生", "", "\x1b" * 9])
def test_one_line_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert cell_len(line) <= width
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("::error::x", "\\x3a:error::x"),
        ("  ::warning::x", "\\x3a:warning::x"),
        ("a ##vso[task.complete]", "a \\x23#vso[task.complete]"),
        ("##[error]x", "\\x23#[error]x"),
        ("a::b ## c", "a::b ## c"),
    ],
)
def test_no_line_is_an_order_to_a_ci_service(text: str, line: str) -> None:
    assert one_line(text) == line


def test_json_holds_no_order_and_the_same_data() -> None:
    document = {"message": "##vso[task.complete] ### ::error::"}
    assert "##" not in as_json(document)
    assert json.loads(as_json(document)) == document


@pytest.mark.parametrize(
    ("points", "text"), [(0, "0"), (100, "100"), (78.5, "78.5"), (31.67, "31.67"), (10, "10")]
)
def test_figures_are_written_as_a_person_would(points: float, text: str) -> None:
    assert figure(points) == text


# The class on a terminal


def test_a_row_shows_each_exercise_and_the_total() -> None:
    table = shown(class_table([result("ann", {SUITE[0].id: "wrong"})], ASSIGNMENT))
    (row,) = (line for line in table.splitlines() if line.startswith("ann"))
    assert row.split() == ["ann", "17/25", "25/25", "10/10", "40/40", "92", "/", "100"]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("bonus", [0.0, 29.33])
def test_the_table_fits_and_lines_up(width: int, bonus: float) -> None:
    class_ = [
        result("ann", bonus=bonus),
        result("学生"),
        result("a" * 50),
        result("bob", {SUITE[0].id: "wrong " * 40}),
    ]
    lines = shown(class_table(class_, ASSIGNMENT), width=width).splitlines()
    totals = {cell_len(line[: line.index(" / 100")]) for line in lines if " / 100" in line}
    assert max(map(cell_len, lines)) <= width
    assert len(totals) == 1


def test_away_from_a_terminal_there_is_neither_colour_nor_drawing() -> None:
    text = shown(class_table([result("ann"), result("bob", {SUITE[0].id: "wrong"})], ASSIGNMENT))
    assert text.isascii()
    assert "\x1b" not in text


def test_on_a_terminal_there_is_colour() -> None:
    assert "\x1b[32m" in shown(class_table([result()], ASSIGNMENT), terminal=True)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown(class_table([result()], ASSIGNMENT), terminal=True)


@pytest.mark.parametrize("width", [80, 140])
def test_the_remark_is_the_first_failing_thing_in_words(width: int) -> None:
    failed = {SUITE[2].id: "\nA blocked key gets weight.\nMore.", SUITE[4].id: "later"}
    text = shown(class_table([result("ann", failed)], ASSIGNMENT), width=width)
    assert "Cross-attention: A blocked key" in text
    assert "More" not in text
    assert "later" not in text


@pytest.mark.parametrize("status", [Status.REJECTED, Status.INFRASTRUCTURE_ERROR])
def test_the_remark_says_why_there_is_no_ordinary_score(status: Status) -> None:
    text = shown(class_table([result(status=status, message="line 3 does not parse")], ASSIGNMENT))
    assert "line 3 does not parse" in text
    assert ("not graded" in text) is (status is Status.INFRASTRUCTURE_ERROR)


def test_tests_that_did_not_run_are_remarked() -> None:
    silent = result().model_copy(update={"tests": score(SUITE, {}, ASSIGNMENT).tests})
    assert "8 tests did not run" in shown(class_table([silent], ASSIGNMENT))


@pytest.mark.parametrize(("bonus", "there"), [(0.0, False), (7.5, True)])
def test_bonus_has_a_column_when_anyone_has_some(bonus: float, there: bool) -> None:
    text = shown(class_table([result(bonus=bonus), result("bob")], ASSIGNMENT))
    assert ("Bonus" in text) is there
    assert ("+7.5" in text) is there


@pytest.mark.parametrize("outcome", [TestStatus.FAILED, TestStatus.NOT_RUN])
def test_a_bonus_exercise_that_is_not_solved_is_not_remarked(outcome: TestStatus) -> None:
    extra = SuiteTest("extra", ASSIGNMENT.bonus[0].name, "parity", Fraction(3), Visibility.HIDDEN)
    tests = score([*SUITE, extra], {**PASSED, "extra": Outcome(outcome, "not there")}, ASSIGNMENT).tests
    text = shown(class_table([result().model_copy(update={"tests": tests})], ASSIGNMENT))
    assert len(text.splitlines()) == 3  # a head of two lines, and one row without a remark


def test_a_class_without_submissions_is_only_a_head() -> None:
    assert shown(class_table([], ASSIGNMENT)).splitlines()[-1].startswith("Submission")


@pytest.mark.parametrize("terminal", [False, True])
def test_students_text_cannot_act_on_the_terminal(terminal: bool) -> None:
    hostile = [
        result(HOSTILE, {SUITE[0].id: HOSTILE}),
        result("bob", status=Status.REJECTED, message=HOSTILE),
    ]
    text = shown(class_table(hostile, ASSIGNMENT), width=200, terminal=terminal)
    assert "eve[bold red]\\x1b[2J" in text
    assert not {"\x07", "\r", "\u202e", "\u2066"} & set(text)
    assert "\x1b[2J" not in text
    assert not any(line.startswith("[ 9/9]") for line in text.splitlines())


# A student's points


def test_points_are_shown_of_the_points_available_here() -> None:
    visible_suite = [test for test in SUITE if test.visibility is Visibility.VISIBLE]
    lines = points_lines(score(visible_suite, PASSED, ASSIGNMENT), ASSIGNMENT, public_only=True)
    assert lines[0].split() == ["Self-attention", "8", "/", "8"]
    assert lines[4].split() == ["Total", "32", "/", "32"]
    assert "32 of 100 points" in lines[5]
    assert "Hidden tests make up the other 68" in " ".join(lines[5:])


def test_with_the_whole_suite_there_is_no_note_about_hidden_tests() -> None:
    lines = points_lines(scored(), ASSIGNMENT, public_only=False)
    assert lines[-1].split() == ["Total", "100", "/", "100"]


def test_exercises_without_tests_here_are_left_out() -> None:
    part = [test for test in SUITE if test.exercise == "split_heads"]
    lines = points_lines(score(part, PASSED, ASSIGNMENT), ASSIGNMENT, public_only=False)
    assert [line.split()[0] for line in lines] == ["Splitting", "Total"]


@pytest.mark.parametrize("public_only", [True, False])
def test_the_points_table_is_the_lines_and_colour_on_a_terminal(public_only: bool) -> None:
    table = points_table(scored(), ASSIGNMENT, public_only=public_only)
    assert shown(table).splitlines() == points_lines(scored(), ASSIGNMENT, public_only=public_only)
    assert "\x1b[" in shown(table, terminal=True)


# Progress


def watch(results: list[Result], *, terminal: bool, done: int = 0) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=terminal, color_system=None)
    with Progress(len(results) + done, console=console, done=done) as progress:
        for one in results:
            progress.refresh()
            progress.advance(one)
    return stream.getvalue()


def test_away_from_a_terminal_each_submission_is_a_line() -> None:
    class_ = [result("ann", {SUITE[0].id: "wrong"}), *(result(f"s{number}") for number in range(9))]
    lines = watch(class_, terminal=False).splitlines()
    assert lines[0] == "[ 1/10] ann  92 / 100"
    assert lines[9] == "[10/10] s8  100 / 100"
    assert len(lines) == 10


def test_a_line_says_why_there_is_no_ordinary_score() -> None:
    class_ = [
        result("ann", status=Status.REJECTED, message="no class\nfound"),
        result("bob", status=Status.INFRASTRUCTURE_ERROR, message="the host died"),
    ]
    assert watch(class_, terminal=False, done=1).splitlines() == [
        "[2/3] ann  100 / 100  no class",
        "[3/3] bob  not graded  the host died",
    ]


def test_on_a_terminal_a_bar_counts_up_with_time_left() -> None:
    text = watch([result("ann"), result("bob")], terminal=True, done=2)
    assert "2/4" in text
    assert "4/4" in text
    assert "left" in text
    assert "ann 100 / 100" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_shows_students_text_and_obeys_none_of_it(terminal: bool) -> None:
    text = watch([result(HOSTILE, status=Status.REJECTED, message=HOSTILE)], terminal=terminal)
    assert "eve[bold red]" in text
    assert not {"\x07", "\u202e"} & set(text)
    assert "\x1b[2J" not in text
    assert "\n[ 9/9]" not in text


def test_progress_runs_no_thread_so_that_forking_is_safe() -> None:
    before = threading.active_count()
    with Progress(1, console=Console(file=io.StringIO(), force_terminal=True)) as progress:
        progress.advance(result())
        assert threading.active_count() == before


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1) as progress:
        progress.advance(result("ann"))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "[1/1] ann  100 / 100\n")
