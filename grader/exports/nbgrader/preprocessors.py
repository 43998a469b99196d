"""In nbgrader's own autograde: cells put right, and our scores in place of a kernel's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import nbformat
from nbgrader.api import Gradebook  # type: ignore[import-untyped]
from nbgrader.preprocessors import NbGraderPreprocessor  # type: ignore[import-untyped]
from traitlets import List, Unicode
from traitlets.log import get_logger

from grader.assignment import load_assignment
from grader.exports.nbgrader.entering import CourseLayout, enter, write_pages
from grader.exports.nbgrader.grading import RESULTS, ROOT, NotGraded, grade, result_of
from grader.exports.nbgrader.pages import restored

# by nbgrader's converter, which is made anew for each autograde: what went wrong with it as a whole
_graded: WeakKeyDictionary[Any, dict[str, NotGraded | None]] = WeakKeyDictionary()
# the submission it was last at, and that one's pages
_entered: WeakKeyDictionary[Any, tuple[tuple[str, str] | None, dict[str, Any]]] = WeakKeyDictionary()


class RestoreCells(NbGraderPreprocessor):  # type: ignore[misc]
    """In place of nbgrader's OverwriteCells, which a notebook can make fail for a whole class."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        at = resources["nbgrader"]
        released = CourseLayout.of(self.parent.parent.coursedir).released(at["assignment"], at["notebook"])
        return restored(nb, released), resources


class IsolatedScores(NbGraderPreprocessor):  # type: ignore[misc]
    """In place of a kernel: the submission graded behind the wall, its scores in the gradebook."""

    grade_options = List(
        Unicode(), help="More options for `python -m grader grade`, such as --require-isolation."
    ).tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        at = resources["nbgrader"]
        converter = self.parent.parent
        layout = CourseLayout.of(converter.coursedir)
        self._grade_class(converter, layout, at["assignment"])
        return self._page(converter, layout, at), resources

    def _page(self, converter: Any, layout: CourseLayout, at: Mapping[str, str]) -> Any:
        """The page of one notebook; at the first of a submission all its scores are entered."""
        submission = (at["assignment"], at["student"])
        if _entered.get(converter, (None, {}))[0] != submission:
            result = result_of(layout.results(at["assignment"]), at["student"])
            with Gradebook(at["db_url"], converter.coursedir.course_id) as gradebook:
                pages = enter(
                    gradebook, layout, load_assignment(ROOT), at["assignment"], result, converter.config
                )
            handed_in = layout.handed_in(at["student"], at["assignment"])
            names = [name for name in pages if not (handed_in / f"{name}.ipynb").exists()]
            if missing := {name: pages[name] for name in names}:
                write_pages(layout, at["student"], at["assignment"], missing)
            _entered[converter] = (submission, pages)
        return _entered[converter][1][at["notebook"]]

    def _grade_class(self, converter: Any, layout: CourseLayout, assignment: str) -> None:
        """Grade all submissions that nbgrader was asked to, at the first of them: warm, many at a time."""
        done = _graded.setdefault(converter, {})
        if assignment not in done:
            done[assignment] = None
            students = layout.students(converter.assignments, assignment)
            self.log.info("Grading %d submissions of %s behind the wall", len(students), assignment)
            try:
                if not students:
                    raise NotGraded(f"None of the submissions asked for in {layout.submitted} can be read.")
                grade(
                    layout.submitted,
                    assignment,
                    students,
                    layout.results(assignment),
                    self.grade_options,
                    lambda line: self.log.info("%s", line),
                )
            except NotGraded as error:
                done[assignment] = error
        if (fault := done[assignment]) is not None:
            raise NotGraded(str(fault))


def say_what_is_odd(*, assignment: str, student: str, notebooks: list[str]) -> None:
    """Before nbgrader looks at a submission: a word on what it will not understand, and what to do then."""
    paths = [Path(notebook) for notebook in notebooks]
    course = Path.cwd()  # nbgrader's converters work in the course
    log = get_logger()
    for folder in dict.fromkeys(one for path in paths for one in (path.parent, path.parent.parent)):
        if folder.is_symlink():
            log.warning("%s is a link, so it is not read. Put the folder itself there.", folder)
    for path in paths:
        try:
            nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        except Exception as error:  # whatever stands in the file
            log.warning(
                "%s cannot be read as a notebook: %s. %s", path, type(error).__name__, _help(path, course)
            )
    if paths and not any(_was_given_out(path, course) for path in paths):
        names = ", ".join(path.name for path in paths)
        log.warning(
            "%s holds no notebook of this assignment, only %s. %s",
            paths[0].parent,
            names,
            _help(paths[0], course),
        )


def _was_given_out(notebook: Path, course: Path) -> bool:
    return (course / "release" / notebook.parent.name / notebook.name).is_file()


def _help(notebook: Path, course: Path) -> str:
    name = notebook.parent.name
    results = course / RESULTS / name
    return (
        "nbgrader gives up on this submission and goes on with the others. Headstart reads it all the "
        f"same. Grade it with `python -m grader grade {course / 'submitted'} --within {name} "
        f"--out {results} --resume`, and enter its score with `python -m grader export {results} "
        f"--format nbgrader --course {course}`."
    )
