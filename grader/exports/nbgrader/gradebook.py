"""Our scores in nbgrader's gradebook: what a teacher entered by hand there stays as it is."""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping
from typing import Any

from nbgrader.api import Gradebook  # type: ignore[import-untyped]
from sqlalchemy.exc import SAWarning

from grader.exports.nbgrader.cells import CellScore
from grader.exports.nbgrader.grading import NotGraded

_NEAR = 0.005  # points; nbgrader keeps them as binary fractions

warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")  # harmless ones at each submission


class OtherCells(NotGraded):
    """The gradebook and our results do not speak of the same cells; the message says what to try."""


def write_scores(
    gradebook: Gradebook,
    assignment: str,
    student: str,
    scores: Mapping[str, CellScore],
    comments: Mapping[str, str],
) -> None:
    """Enter the scores of all cells of one submission, and comments by answer cell; commits.

    Manual scores, manual comments and extra credit stay. A cell that has a manual score is marked to be
    looked at again, as nbgrader does. Raises OtherCells, with nothing written, where cells do not match.
    """
    submission = gradebook.find_submission(assignment, student)
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    _check(grades, scores, assignment)
    for grade in grades:
        grade.auto_score = min(max(scores[grade.name].score, 0.0), grade.max_score)
        grade.needs_manual_grade = grade.manual_score is not None
    for notebook in submission.notebooks:
        for comment in notebook.comments:
            text = comments.get(comment.name)
            comment.auto_comment = markdown_safe(text) if text else None
    gradebook.db.commit()


def _check(grades: list[Any], scores: Mapping[str, CellScore], assignment: str) -> None:
    there = {grade.name: float(grade.max_score) for grade in grades}
    ours = {name: score.max_score for name, score in scores.items()}
    differing = [name for name in there if name in ours and abs(there[name] - ours[name]) > _NEAR]
    problems = [f"{name} is worth {ours[name]:g} points here, {there[name]:g} there" for name in differing]
    problems += [f"{name} is only in the gradebook" for name in there.keys() - ours.keys()]
    problems += [f"{name} is only in our results" for name in ours.keys() - there.keys()]
    if problems:
        raise OtherCells(
            f"The gradebook's cells of {assignment} are not those of the tests:\n"
            + "".join(f"  {problem}\n" for problem in sorted(problems))
            + "Nothing was entered. Release the course again and run `nbgrader generate_assignment "
            f"{assignment} --force`; if nbgrader refuses because there are submissions already, put the "
            "tests and points back as they were."
        )


def markdown_safe(text: str) -> str:
    """``text`` so that nothing in it is markup: nbgrader renders comments as Markdown, HTML and all."""
    return "<pre>" + html.escape(text).replace("\n", "&#10;") + "</pre>"
