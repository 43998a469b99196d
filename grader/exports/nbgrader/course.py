"""A class's results into a course: what ``export --format nbgrader`` does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.exports.nbgrader.cells import assignment_names
from grader.exports.nbgrader.grading import NotGraded
from grader.results import Result, Status, TestStatus

CONFIG = "nbgrader_config.py"


@dataclass
class Entered:
    """What an export did: whose scores are in which assignment now, and whose are not, and why."""

    entered: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def export(
    results: Iterable[Result],
    assignment: Assignment,
    course: Path,
    only: str | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Entered:
    """Enter each result into the gradebook of ``course``; ``advance`` is called after each.

    ``only`` is one of the course's assignments; otherwise core exercises go to one, and bonus exercises,
    where any was handed in, to another. Raises NotGraded where the course cannot take them.
    """
    _make_ready(course)
    from nbgrader.api import MissingEntry  # type: ignore[import-untyped]

    from grader.exports.nbgrader.entering import CourseLayout, enter, write_pages

    names = _wanted(assignment, only)
    done = Entered()
    with _opened(course) as (api, gradebook):
        layout = CourseLayout.of(api.coursedir)
        _check_assignments(gradebook, names if only else names[:1], course)
        for result in results:
            if result.status is Status.INFRASTRUCTURE_ERROR:
                done.left_out[result.submission] = "it could not be graded, by a fault of ours"
                continue
            for name in names if only else _handed_in(result, assignment, names):
                try:
                    gradebook.find_assignment(name)
                except MissingEntry:
                    done.left_out[result.submission] = (
                        f"its bonus points: the course has no assignment {name}. Run `nbgrader "
                        f"generate_assignment {name}` there, then export again"
                    )
                    continue
                _have_submission(gradebook, layout, name, result.submission)
                pages = enter(gradebook, layout, assignment, name, result, api.config)
                write_pages(layout, result.submission, name, pages)
                done.entered.setdefault(name, []).append(result.submission)
            advance()
    return done


def _make_ready(course: Path) -> None:
    if not (course / CONFIG).is_file():
        raise NotGraded(
            f"{course} is no nbgrader course: there is no {CONFIG} in it. Make one with "
            f"`python -m grader release --format nbgrader --out {course}`, or give another --course."
        )


def _wanted(assignment: Assignment, only: str | None) -> list[str]:
    names = list(assignment_names(assignment))
    if only is None:
        return names
    if only not in names:
        raise NotGraded(f"There is no assignment {only!r} here. There is: {', '.join(names)}.")
    return [only]


def _handed_in(result: Result, assignment: Assignment, names: list[str]) -> list[str]:
    """The core, and the bonus where a test of it was run: nobody is entered for what they left out."""
    ran = {test.exercise for test in result.tests if test.status is not TestStatus.NOT_RUN}
    exercises = assignment_names(assignment)
    return [name for name in names if name == names[0] or ran & {one.name for one in exercises[name]}]


@contextlib.contextmanager
def _opened(course: Path) -> Iterator[tuple[Any, Any]]:
    """nbgrader's own view of the course, by the course's settings, and its gradebook."""
    from nbgrader.apps.api import NbGraderAPI  # type: ignore[import-untyped]
    from traitlets.config.loader import PyFileConfigLoader

    before = os.getcwd()
    os.chdir(course)  # where nbgrader's own commands run
    try:
        loader: Any = PyFileConfigLoader(CONFIG, path=str(course.resolve()))
        api = NbGraderAPI(config=loader.load_config())
        with api.gradebook as gradebook:
            yield api, gradebook
    finally:
        os.chdir(before)


def _check_assignments(gradebook: Any, names: list[str], course: Path) -> None:
    there = {assignment.name for assignment in gradebook.assignments}
    if missing := [name for name in names if name not in there]:
        raise NotGraded(
            f"The gradebook of {course} has no assignment {missing[0]}. Run `nbgrader generate_assignment "
            f"{missing[0]}` in {course}, then export again."
        )


def _have_submission(gradebook: Any, layout: Any, name: str, student: str) -> None:
    """Let the gradebook have this submission, with the time that nbgrader collected it at."""
    gradebook.update_or_create_student(student)
    folder = layout.handed_in(student, name)
    stamp = layout.coursedir.get_existing_timestamp(str(folder)) if folder.is_dir() else None
    gradebook.update_or_create_submission(name, student, **({"timestamp": stamp} if stamp else {}))
