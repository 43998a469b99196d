"""nbgrader's table of grades as CSV that holds whatever a name may be: `nbgrader export` uses it."""

from __future__ import annotations

import csv
from typing import Any

from nbgrader.api import Gradebook, MissingEntry  # type: ignore[import-untyped]
from nbgrader.plugins import ExportPlugin  # type: ignore[import-untyped]

from grader.store.files import cell

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
_PLACES = 2


class QuotedCsv(ExportPlugin):  # type: ignore[misc]
    """The columns of nbgrader's own export, quoted, and safe to open in a spreadsheet."""

    def export(self, gradebook: Gradebook) -> None:
        """Write ``--to`` (grades.csv): one row for each student and assignment, like nbgrader's own."""
        target = self.to or "grades.csv"
        with open(target, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for assignment in gradebook.assignments:
                if self.assignment and assignment.name not in map(str, self.assignment):
                    continue
                for student in gradebook.students:
                    if not self.student or student.id in map(str, self.student):
                        writer.writerow(_row(gradebook, assignment, student))
        self.log.info("Wrote %s", target)


def _row(gradebook: Gradebook, assignment: Any, student: Any) -> list[str]:
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:  # nothing handed in
        submission = None
    penalty = (submission.late_submission_penalty or 0.0) if submission else 0.0
    score = submission.score if submission else 0.0
    texts = [
        *(assignment.name, assignment.duedate, submission.timestamp if submission else None),
        *(student.id, student.last_name, student.first_name, student.email),
    ]
    points = [str(round(one, _PLACES)) for one in (score, penalty, max(0.0, score - penalty))]
    if submission and not _is_graded(submission):
        points = ["", "", ""]  # a fault on the way is no zero
    return [
        *("" if text is None else cell(str(text)) for text in texts),
        *points,
        str(round(assignment.max_score, _PLACES)),
    ]


def _is_graded(submission: Any) -> bool:
    """Whether every test cell has a score; text that waits for a teacher does not count."""
    grades = (grade for notebook in submission.notebooks for grade in notebook.grades)
    return not any(
        grade.auto_score is None and grade.manual_score is None and grade.cell.cell_type == "code"
        for grade in grades
    )
