"""A class, a student's points and a run's progress as they look on a terminal, and away from one."""

from __future__ import annotations

import io
import threading
from fractions import Fraction

import pytest
from rich.cells import cell_len
from rich.console import Console

from grader.examination.points_table import points_lines, points_table
from grader.reports.terminal import Progress, class_table
from grader.results import Result, Status, TestStatus, Visibility
from grader.scoring import Outcome, SuiteTest, score
from tests.grader.sample_results import ASSIGNMENT, HOSTILE, PASSED, SUITE, result, scored, shown

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
