"""The course folder that `release --format nbgrader` makes, and what stands in nbgrader's way."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.grader.courses import Course
from tests.grader.project import Project, copied

pytestmark = pytest.mark.nbgrader


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copied(tmp_path_factory.mktemp("course") / "headstart")


@pytest.fixture(scope="module")
def made(project: Project) -> Path:
    out = project.root.parent / "made"
    ran = project.run("release", "--format", "nbgrader", "--out", out)
    assert ran.status == 0, ran.both
    return out


@pytest.fixture
def course(project: Project, made: Path, tmp_path: Path) -> Course:
    """A course nothing was generated of yet."""
    shutil.copytree(made, tmp_path / "course")
    return Course(tmp_path / "course", project, f"sqlite:///{tmp_path / 'course' / 'gradebook.db'}")


def marks(path: Path) -> list[dict[str, object]]:
    cells = json.loads(path.read_text())["cells"]
    return [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]


def test_grade_cells_make_the_points_of_the_assignment(made: Path) -> None:
    found = [mark for path in (made / "source/attention").glob("*.ipynb") for mark in marks(path)]
    assert sum(mark["points"] for mark in found if mark["grade"]) == 100  # type: ignore[misc]
    assert {mark["schema_version"] for mark in found} == {3}
    assert {"self_attention-parity", "SelfAttention", "split_heads-shapes"} <= {
        mark["grade_id"] for mark in found
    }


def test_the_same_release_again_changes_nothing(project: Project, course: Course) -> None:
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    assert project.run("release", "--format", "nbgrader", "--out", course.root).status == 0
    assert {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()} == before


def test_work_of_the_instructor_is_not_overwritten(project: Project, course: Course) -> None:
    notebook = course.root / "source/attention/self_attention.ipynb"
    notebook.write_text(notebook.read_text().replace("Self-attention", "My attention"))
    ran = project.run("release", "--format", "nbgrader", "--out", course.root)
    assert ran.status == 1
    assert "source/attention/self_attention.ipynb" in ran.err
    assert "My attention" in notebook.read_text()
    assert project.run("release", "--format", "nbgrader", "--out", course.root, "--force").status == 0
    assert "My attention" not in notebook.read_text()


def test_settings_of_the_course_stay(project: Project, course: Course) -> None:
    config = course.root / "nbgrader_config.py"
    config.write_text(config.read_text() + "c.NbGrader.logfile = 'log'\n")
    ran = project.run("release", "--format", "nbgrader", "--out", course.root, "--force")
    assert ran.status == 0
    assert "Left as it is" in ran.out
    assert "logfile" in config.read_text()


def test_an_answer_in_the_text_is_not_released(project: Project, tmp_path: Path) -> None:
    other = copied(tmp_path / "headstart")
    other.change(
        "solutions/notebooks/self_attention.py",
        "tokens = [",
        "scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)\ntokens = [",
    )
    other.run("generate", "--force")
    ran = other.run("release", "--format", "nbgrader", "--out", tmp_path / "course")
    assert ran.status == 1
    assert not (tmp_path / "course").exists()


def test_a_gradebook_that_is_half_made_is_named(course: Course) -> None:
    with sqlite3.connect(course.root / "gradebook.db") as database:
        database.execute("CREATE TABLE course (id VARCHAR)")
    ran = course.nbgrader("generate_assignment", "attention")
    assert ran.status != 0
    assert "gradebook.db is half-made" in ran.both
    (course.root / "gradebook.db").unlink()
    assert course.nbgrader("generate_assignment", "attention").status == 0


def test_a_gradebook_that_is_none_is_named(course: Course) -> None:
    (course.root / "gradebook.db").write_text("grades of last year\n" * 100)
    ran = course.nbgrader("generate_assignment", "attention")
    assert ran.status != 0
    assert "gradebook.db is not a database" in ran.both


def test_a_project_that_moved_is_named(course: Course) -> None:
    config = course.root / "nbgrader_config.py"
    config.write_text(config.read_text().replace(str(course.project.root), "/nowhere"))
    ran = course.nbgrader("generate_assignment", "attention")
    assert ran.status != 0
    assert "Headstart cannot be used from /nowhere" in ran.both


def test_scores_for_no_course_are_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "results/submissions").mkdir(parents=True)
    ran = project.run("export", tmp_path / "results", "--format", "nbgrader", "--course", tmp_path)
    assert ran.status == 2
    assert "is no nbgrader course" in ran.err


def test_scores_before_the_assignment_was_generated_are_refused(course: Course, tmp_path: Path) -> None:
    (tmp_path / "results/submissions").mkdir(parents=True)
    ran = course.project.run("export", tmp_path / "results", "--format", "nbgrader", "--course", course.root)
    assert ran.status == 2
    assert "nbgrader generate_assignment attention" in ran.err


def test_each_submission_is_a_folder_within_a_students(project: Project, tmp_path: Path) -> None:
    for student in ("ada", "bob"):
        folder = tmp_path / "submitted" / student / "attention"
        shutil.copytree(project.root / "solutions", folder)
    (tmp_path / "submitted/eve/other").mkdir(parents=True)
    ran = project.run(
        *(
            "grade",
            tmp_path / "submitted",
            "--within",
            "attention",
            "--only",
            "bob",
            "--out",
            tmp_path / "out",
        )
    )
    assert ran.status == 0, ran.both
    assert [path.name for path in (tmp_path / "out/submissions").iterdir()] == ["bob"]
    assert json.loads((tmp_path / "out/run.json").read_text())["within"] == "attention"
    assert project.run("regrade", tmp_path / "out").status == 0
    ran = project.run(
        "grade", tmp_path / "submitted", "--within", "attention", "--only", "bop", "--out", tmp_path / "out"
    )
    assert ran.status == 2
    assert "Did you mean bob?" in ran.err
