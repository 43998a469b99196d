"""nbgrader's own commands on a class, graded behind the wall: what everybody gets, and what it takes."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook

from grader.release.leaks import find_leaks
from tests.grader.courses import Course, sources_of
from tests.grader.project import FILES, ROOT

pytestmark = pytest.mark.nbgrader

RIGHT = sources_of(ROOT / "solutions", FILES)
SCALE = "/ math.sqrt(self.d_k)"
HOSTILE = """
import os, sys
print("<script>alert(1)</script>", file=sys.stderr)
for name in ("SelfAttention", "CrossAttention"):
    pass
import builtins
builtins.float = lambda *_: 10**9
"""
LATE = "c.LateSubmissionPlugin.penalty_method = 'zero'\n"


def marks(cell: Any) -> dict[str, Any]:
    found = cell.metadata.get("nbgrader", {})
    return found if isinstance(found, dict) else {}


def answer(notebook: Any) -> Any:
    return next(cell for cell in notebook.cells if marks(cell).get("solution"))


def delete_tests(notebook: Any) -> None:
    notebook.cells = [cell for cell in notebook.cells if not marks(cell).get("grade")]


def delete_answer(notebook: Any) -> None:
    notebook.cells.remove(answer(notebook))


def copy_answer(notebook: Any) -> None:
    twin = copy.deepcopy(answer(notebook))
    twin["id"] = "twin"
    notebook.cells.insert(notebook.cells.index(answer(notebook)) + 1, twin)


def renumber(notebook: Any) -> None:
    answer(notebook).metadata.nbgrader["grade_id"] = "another"


def retype(notebook: Any) -> None:
    cell = answer(notebook)
    cell["cell_type"] = "markdown"
    del cell["outputs"], cell["execution_count"]


def older_schema(notebook: Any) -> None:
    answer(notebook).metadata.nbgrader["schema_version"] = 1


def newer_schema(notebook: Any) -> None:
    answer(notebook).metadata.nbgrader["schema_version"] = 9


def garble(notebook: Any) -> None:
    answer(notebook).metadata["nbgrader"] = "none"


def promise_points(notebook: Any) -> None:
    for cell in notebook.cells:
        if marks(cell).get("grade"):
            cell.metadata.nbgrader["points"] = 1000


def forget_marks(notebook: Any) -> None:
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})


UNHARMED: list[Callable[[Any], None]] = [
    *(delete_tests, copy_answer, renumber, older_schema, newer_schema, garble, promise_points, forget_marks)
]
WORTHLESS: list[Callable[[Any], None]] = [delete_answer, retype]
FOREIGN = nbformat.writes(
    nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(
                "print('sorted')",
                metadata={
                    "nbgrader": {
                        "grade": True,
                        "solution": False,
                        "locked": True,
                        "task": False,
                        "grade_id": "sorting",
                        "points": 5,
                        "schema_version": 3,
                    }
                },
            )
        ]
    )
)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A class that handed in what classes hand in, graded by `nbgrader autograde`."""
    course = Course.released(tmp_path_factory.mktemp("nbgrader"), settings=LATE)
    no_scale = {"self_attention.py": RIGHT["self_attention.py"].replace(SCALE, "")}
    course.hand_in("right", course.filled(RIGHT))
    course.hand_in("x-no-scale", course.filled({**RIGHT, **no_scale}))
    course.hand_in("half", course.filled(sources_of(ROOT / "solutions", FILES[:1])))
    course.hand_in("x-untouched", {name: nbformat.writes(course.given_out(name)) for name in NOTEBOOKS})
    hostile = {
        "self_attention.py": RIGHT["self_attention.py"].replace("import math\n", f"import math\n{HOSTILE}")
    }
    course.hand_in("x-hostile", course.filled({**RIGHT, **hostile}))
    single = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in RIGHT.values()])
    course.hand_in("all-in-one", {"self_attention": nbformat.writes(single)})
    for change in [*UNHARMED, *WORTHLESS]:
        course.hand_in(
            f"x-{change.__name__}" if change is retype else change.__name__,
            course.filled(RIGHT, change=change),
        )
    course.hand_in("foreign", {"self_attention": FOREIGN})
    course.hand_in("foreign-name", {"sorting": FOREIGN})
    (course.root / "submitted/linked").symlink_to(course.root / "submitted/right")
    course.hand_in("no-json", {"self_attention": '{"cells": ['})
    ran = course.nbgrader("autograde", "attention")
    (course.root / "autograde.log").write_text(ran.both)
    assert course.nbgrader("generate_feedback", "attention", "--student", "x-*").status == 0
    return course


NOTEBOOKS = [name.removesuffix(".py") for name in FILES]


def log(course: Course) -> str:
    return (course.root / "autograde.log").read_text()


def ours(course: Course) -> dict[str, dict[str, str]]:
    """What our own scores.csv says."""
    with (course.root / "headstart/results/attention/scores.csv").open() as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


def test_no_kernel_is_started(course: Course) -> None:
    assert "Kernel" not in log(course)


def test_the_gradebook_has_what_the_grader_gave(course: Course) -> None:
    given = {name: float(row["score"]) for name, row in ours(course).items()}
    entered = {name: score for name, score in course.scores().items() if name in given}
    assert entered == {name: given[name] for name in entered}
    assert entered["right"] == entered["all-in-one"] == 100
    assert 0 < entered["x-no-scale"] < 100
    assert entered["half"] == 25
    assert entered["x-untouched"] == 0


def test_points_are_parted_by_exercise_and_aspect(course: Course) -> None:
    cells, whole = course.cells("x-no-scale"), course.cells("right")
    lost = {name: whole[name] - cells[name] for name in cells if cells[name] != whole[name]}
    assert lost == {"self_attention-parity": 25 - (course.scores()["x-no-scale"] - 75)}
    assert cells["self_attention-parity"] > 0  # in part: its rows still add up to one


@pytest.mark.parametrize("change", UNHARMED)
def test_what_was_done_to_the_marks_of_cells_costs_nothing(course: Course, change: Any) -> None:
    assert course.scores()[change.__name__] == 100


@pytest.mark.parametrize("student", ["delete_answer", "x-retype", "foreign"])
def test_no_answer_is_no_points_and_a_word(course: Course, student: str) -> None:
    assert course.scores()[student] == 0
    assert "was not handed in" in course.page(
        student, "self_attention"
    ) or "were not handed in" in course.page(student, "self_attention")


def test_an_answer_that_became_text_is_named(course: Course) -> None:
    assert "make it a code cell" in course.page("x-retype", "self_attention", "feedback")


def test_a_submission_that_nbgrader_cannot_read_is_told_and_costs_nobody_else(course: Course) -> None:
    assert "no-json/attention/self_attention.ipynb cannot be read as a notebook" in log(course)
    assert "foreign-name/attention holds no notebook of this assignment, only sorting.ipynb" in log(course)
    assert not {"no-json", "foreign-name"} & {
        path.name for path in (course.root / "autograded").iterdir() if any(path.iterdir())
    }


def test_a_folder_that_is_a_link_is_told_and_costs_nobody_else(course: Course) -> None:
    assert "submitted/linked is a link, so it is not read" in log(course)
    assert "linked" not in ours(course)


def test_what_nbgrader_gives_up_on_can_be_entered_all_the_same(course: Course) -> None:
    ran = course.project.run(
        *(
            "export",
            course.root / "headstart/results/attention",
            "--format",
            "nbgrader",
            "--course",
            course.root,
        )
    )
    assert ran.status == 0, ran.both
    assert "submissions entered for attention" in ran.out
    assert course.scores()["no-json"] == 0
    assert "is not a notebook" in course.page("no-json", "self_attention")
    assert course.scores()["right"] == 100


def test_pages_hold_answers_and_verdicts_and_no_hidden_test(course: Course) -> None:
    page = course.page("x-no-scale", "self_attention", "feedback")
    assert "scores that were not scaled at all" in page
    assert "masked_fill" in page  # the student's own answer
    assert "stock.py" not in page
    assert "test_the_formula_once_more" not in page


def test_what_a_submission_prints_does_nothing(course: Course) -> None:
    assert course.scores()["x-hostile"] == 100
    assert "<script>alert(1)</script>" not in course.page("x-hostile", "self_attention", "feedback")


def test_nothing_that_students_get_tells_an_answer(course: Course) -> None:
    root = course.project.root
    for step in ("release", "autograded/x-untouched", "feedback/x-untouched"):
        assert find_leaks(course.root / step, root / "solutions", root / "tests/hidden") == []
        names = {path.name for path in (course.root / step).rglob("*")}
        assert not names & {"stock.py", "nbgrader_config.py", "gradebook.db", "solutions", "hidden"}


def test_scores_given_by_hand_survive_another_autograde(course: Course) -> None:
    with Gradebook(course.db_url, "attention") as gradebook:
        grade = gradebook.find_grade("self_attention-parity", "self_attention", "attention", "x-no-scale")
        grade.manual_score, grade.extra_credit = 5.0, 2.0
        comment = gradebook.find_comment("SelfAttention", "self_attention", "attention", "x-no-scale")
        comment.manual_comment = "Well begun."
        gradebook.db.commit()
        automatic = grade.auto_score
    before = course.scores()["x-no-scale"]
    assert course.nbgrader("autograde", "attention", "--student", "x-no-scale", "--force").status == 0
    assert course.nbgrader("generate_feedback", "attention", "--student", "x-no-scale", "--force").status == 0
    assert course.scores()["x-no-scale"] == before
    with Gradebook(course.db_url, "attention") as gradebook:
        grade = gradebook.find_grade("self_attention-parity", "self_attention", "attention", "x-no-scale")
        assert (grade.auto_score, grade.manual_score, grade.extra_credit) == (automatic, 5, 2)
        assert grade.needs_manual_grade
    assert "Well begun." in course.page("x-no-scale", "self_attention", "feedback")


def test_grades_are_exported_as_a_table_that_holds_any_name(course: Course) -> None:
    with Gradebook(course.db_url, "attention") as gradebook:
        gradebook.update_or_create_student("right", last_name='Öz, "the" older', first_name="=1+1")
    assert course.nbgrader("export").status == 0
    with (course.root / "grades.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows["right"]["last_name"] == 'Öz, "the" older'
    assert rows["right"]["first_name"] == "'=1+1"
    graded = {name: float(row["raw_score"]) for name, row in rows.items() if row["raw_score"]}
    assert graded == {name: score for name, score in course.scores().items() if name != "linked"}
    assert rows["linked"]["score"] == ""
    assert rows["right"]["max_score"] == "100.0"


def test_a_late_submission_is_penalised_as_nbgrader_is_set_to(course: Course) -> None:
    with Gradebook(course.db_url, "attention") as gradebook:
        gradebook.update_or_create_assignment("attention", duedate="2026-11-20 09:00:00 UTC")
    assert course.nbgrader("autograde", "attention", "--student", "right", "--force").status == 0
    assert penalty(course, "right") == 100
    with Gradebook(course.db_url, "attention") as gradebook:
        for notebook in gradebook.find_submission("attention", "right").notebooks:
            notebook.late_submission_penalty = None
        gradebook.db.commit()
    results = course.root / "headstart/results/attention"
    assert course.project.run("export", results, "--format", "nbgrader", "--course", course.root).status == 0
    assert penalty(course, "right") == 100


def penalty(course: Course, student: str) -> float:
    with Gradebook(course.db_url, "attention") as gradebook:
        return float(gradebook.find_submission("attention", student).late_submission_penalty)


def test_decisions_by_hand_reach_the_gradebook(course: Course) -> None:
    results = course.root / "headstart/results/attention"
    (results / "overrides.csv").write_text(
        "submission,exercise,points,comment\nhalf,cross_attention,20,oral exam <img src=x onerror=alert(1)>\n"
    )
    assert course.project.run("regrade", results).status == 0
    ran = course.project.run("export", results, "--format", "nbgrader", "--course", course.root)
    assert ran.status == 0, ran.both
    assert course.scores()["half"] == 45
    assert course.nbgrader("generate_feedback", "attention", "--student", "half").status == 0
    page = course.page("half", "cross_attention", "feedback")
    assert page.count("oral exam &lt;img") >= 2  # as a comment, and in the message of each cell
    assert "<img src=x" not in page


def test_a_fault_of_ours_is_no_zero(course: Course, tmp_path: Path) -> None:
    test = course.project.root / "tests/hidden/test_small.py"
    whole = test.read_text()
    try:
        test.write_text(whole + "\n\nraise RuntimeError('a bug of ours')\n")
        course.hand_in("unlucky", course.filled(RIGHT))
        ran = course.nbgrader("autograde", "attention", "--student", "unlucky")
    finally:
        test.write_text(whole)
    assert ran.status == 1
    assert "a bug of ours" in ran.both
    assert "unlucky" not in {path.parent.name for path in (course.root / "autograded").glob("*/attention")}
    assert course.nbgrader("export", "--to", "faulty.csv").status == 0
    with (course.root / "faulty.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert (rows["unlucky"]["raw_score"], rows["unlucky"]["score"]) == ("", "")
    assert rows["delete_answer"]["score"] == "0.0"


def test_other_cells_than_the_tests_are_refused_with_nothing_entered(course: Course) -> None:
    results = course.root / "headstart/results/attention/submissions/half/result.json"
    whole = results.read_text()
    changed = json.loads(whole)
    changed["tests"][0]["aspect"] = "invented"
    before = course.scores()
    try:
        results.write_text(json.dumps(changed))
        ran = course.project.run(
            *("export", results.parents[2], "--format", "nbgrader", "--course", course.root)
        )
    finally:
        results.write_text(whole)
    assert ran.status == 2
    assert "invented is only in our results" in ran.err
    assert course.scores() == before
