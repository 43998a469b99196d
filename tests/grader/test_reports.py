"""Reports: files that programs read, and what people see on a terminal or away from one."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from rich.cells import cell_len

from grader.results import MAX_MESSAGE, Status, schema_text
from grader.store.files import (
    ResultsError,
    read_results,
    submission_folder,
    without_formula_mark,
    write_result,
)
from grader.store.writing import NotWritten
from grader.text import as_json, figure, one_line, visible
from tests.grader.sample_results import ASSIGNMENT, ROOT, SUITE, result, rows

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

    monkeypatch.setattr("grader.store.files.os.replace", fail)
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
