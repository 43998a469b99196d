"""nbgrader's own way, hidden tests in the student's kernel, and its Validate button."""

from __future__ import annotations

import pytest

from tests.grader.courses import Course, sources_of
from tests.grader.project import FILES, ROOT

pytestmark = pytest.mark.nbgrader

ONE = sources_of(ROOT / "solutions", FILES[:1])
SCALED = "/ math.sqrt(self.d_k)"
NOISE = """\
        print('a warning', file=__import__('sys').stderr)
        __import__('os').write(2, b'from below')
"""


def changed(old: str, new: str) -> dict[str, str]:
    (name,) = ONE
    assert old in ONE[name]
    return {name: ONE[name].replace(old, new)}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Three honest notebooks, graded behind the wall and then by nbgrader itself."""
    course = Course.released(tmp_path_factory.mktemp("stock"))
    course.hand_in("right", course.filled(ONE))
    course.hand_in("no-scale", course.filled(changed(SCALED, "")))
    course.hand_in("noisy", course.filled(changed("        q, k, v", f"{NOISE}        q, k, v")))
    return course


def test_honest_notebooks_get_the_same_scores_both_ways(course: Course) -> None:
    assert course.nbgrader("autograde", "attention").status == 0
    isolated = {student: course.cells(student) for student in course.scores()}
    course.graded_by_stock()
    assert course.nbgrader("autograde", "attention", "--force").status == 0
    for student, cells in isolated.items():
        assert course.cells(student) == pytest.approx(cells, abs=1e-3)
    assert course.scores()["right"] == course.scores()["noisy"] == 25


def test_validate_finds_what_check_finds(course: Course) -> None:
    folder = course.hand_in("at-home", course.filled(changed(SCALED, "")))
    ran = course.nbgrader("validate", "self_attention.ipynb", cwd=folder)
    assert "VALIDATION FAILED ON 1 CELL(S)" in ran.out
    assert 'check("self_attention", "parity")' in ran.out
    assert "It looks like: The weights are those of scores that were not scaled at all." in ran.out
    assert "Traceback" not in ran.out


def test_validate_is_content_with_a_right_answer(course: Course) -> None:
    ran = course.nbgrader("validate", "self_attention.ipynb", cwd=course.root / "submitted/right/attention")
    assert "Success!" in ran.out


def test_validate_says_which_line_of_which_cell_is_not_written(course: Course) -> None:
    folder = course.root / "release/attention"
    ran = course.nbgrader("validate", "cross_attention.ipynb", cwd=folder)
    assert "NotImplementedError" in ran.out
    assert "Your code: Cell In[2], line" in ran.out
