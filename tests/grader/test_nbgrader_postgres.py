"""A gradebook that a team keeps in PostgreSQL: the same course, the same scores."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.grader.courses import Course, sources_of
from tests.grader.databases import postgres, postgres_programs
from tests.grader.project import FILES, ROOT

pytestmark = [
    pytest.mark.nbgrader,
    pytest.mark.skipif(postgres_programs() is None, reason="PostgreSQL is not installed here"),
]


def test_scores_and_grades_in_postgresql(tmp_path: Path) -> None:
    right = sources_of(ROOT / "solutions", FILES)
    with postgres() as address:
        settings = f"c.CourseDirectory.db_url = {address!r}"
        course = Course.released(tmp_path, settings=settings, db_url=address)
        course.hand_in("ada", course.filled(right))
        course.hand_in("bob", course.filled({FILES[0]: right[FILES[0]]}))
        assert course.nbgrader("autograde", "attention").status == 0
        assert course.scores() == {"ada": 100, "bob": 25}
        results = course.root / "headstart/results/attention"
        ran = course.project.run("export", results, "--format", "nbgrader", "--course", course.root)
        assert ran.status == 0, ran.both
        assert course.scores() == {"ada": 100, "bob": 25}
        assert course.nbgrader("generate_feedback", "attention").status == 0
        assert course.nbgrader("export").status == 0
        with (course.root / "grades.csv").open() as file:
            assert [row["raw_score"] for row in csv.DictReader(file)] == ["100.0", "25.0"]
    assert not (course.root / "gradebook.db").exists()
