"""A result into a course: scores and comments into the gradebook, and the pages that show them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook  # type: ignore[import-untyped]
from nbgrader.preprocessors import AssignLatePenalties  # type: ignore[import-untyped]

from grader.assignment import Assignment
from grader.exports.nbgrader.cells import assignment_names, cell_scores, notes
from grader.exports.nbgrader.gradebook import write_scores
from grader.exports.nbgrader.grading import RESULTS, NotGraded
from grader.exports.nbgrader.pages import grade_id_of, restored, with_verdicts
from grader.results import Result
from grader.submissions.nested import folders

_STRUCTURE = "{nbgrader_step}/{student_id}/{assignment_id}"
_NO_RESPONSE = "No response."  # nbgrader's own words for an answer cell left as it was given out


@dataclass(frozen=True)
class CourseLayout:
    """Where things lie in a course, by nbgrader's own settings of it."""

    coursedir: Any
    root: Path

    @classmethod
    def of(cls, coursedir: Any) -> CourseLayout:
        """The layout of nbgrader's ``CourseDirectory``. Raises NotGraded for one that is not supported."""
        if Path(coursedir.directory_structure).as_posix() != _STRUCTURE:
            raise NotGraded(
                f"The course has CourseDirectory.directory_structure = {coursedir.directory_structure!r}. "
                f"Grading needs nbgrader's usual one, {_STRUCTURE}: take that setting out."
            )
        return cls(coursedir, Path(coursedir.root))

    @property
    def submitted(self) -> Path:
        return self.root / str(self.coursedir.submitted_directory)

    def results(self, assignment: str) -> Path:
        """The folder of our own results for one of the course's assignments."""
        return self.root / RESULTS / assignment

    def handed_in(self, student: str, assignment: str) -> Path:
        return self.submitted / student / assignment

    def autograded(self, student: str, assignment: str) -> Path:
        return self.root / str(self.coursedir.autograded_directory) / student / assignment

    def notebooks(self, assignment: str) -> list[str]:
        """The notebooks that were given out. Raises NotGraded when none were."""
        folder = self.root / self.coursedir.release_directory / assignment
        names = sorted(path.stem for path in folder.glob("*.ipynb"))
        if not names:
            raise NotGraded(
                f"{folder} holds no notebook, so it is not known what was given out. Run `nbgrader "
                f"generate_assignment {assignment}` in {self.root}."
            )
        return names

    def released(self, assignment: str, notebook: str) -> Any:
        """A notebook as it was given out. Raises NotGraded when it was not."""
        if notebook not in self.notebooks(assignment):
            raise NotGraded(f"There is no notebook {notebook}.ipynb in the release of {assignment}.")
        path = self.root / self.coursedir.release_directory / assignment / f"{notebook}.ipynb"
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]

    def students(self, assignments: Iterable[str], assignment: str) -> list[str]:
        """Who handed in, of nbgrader's list of submission folders for one assignment.

        A folder that intake does not take, such as a link, is left out: it must not stop the others.
        """
        asked = {Path(path).parent.name for path in assignments if Path(path).name == assignment}
        taken = {entry.id for entry in folders(self.submitted, assignment)} if asked else set()
        return sorted(asked & taken)


def enter(
    gradebook: Gradebook,
    layout: CourseLayout,
    assignment: Assignment,
    name: str,
    result: Result,
    config: Any,
) -> dict[str, Any]:
    """Enter ``result`` for the course's assignment ``name``; returns its pages, by notebook.

    The submission must be in the gradebook. Late penalties are as ``config`` of nbgrader says.
    """
    student = result.submission
    exercises = assignment_names(assignment).get(name)
    if exercises is None:
        raise NotGraded(
            f"There are no exercises for {name}: Headstart knows {', '.join(assignment_names(assignment))}."
        )
    scores = cell_scores(result, exercises)
    told = notes(result, assignment)
    pages: dict[str, Any] = {}
    comments: dict[str, str] = {}
    for notebook in layout.notebooks(name):
        released = layout.released(name, notebook)
        given_out = {grade_id_of(cell): cell.source for cell in released.cells}
        page = restored(_read(layout.handed_in(student, name) / f"{notebook}.ipynb") or released, released)
        for number, answer in enumerate(with_verdicts(page, scores)):
            untouched = answer.source == given_out[grade_id_of(answer)]
            parts = [told] if told and number == 0 else []
            comments[grade_id_of(answer) or ""] = "\n".join([*parts, *([_NO_RESPONSE] if untouched else [])])
        pages[notebook] = page
    write_scores(gradebook, name, student, scores, comments)
    url = gradebook.engine.url.render_as_string(hide_password=False)
    for notebook in pages:
        at = {"notebook": notebook, "assignment": name, "student": student, "db_url": url}
        penalties = AssignLatePenalties(config=config)
        penalties.preprocess(new_notebook(), {"nbgrader": at})  # type: ignore[no-untyped-call]
    return pages


def _read(path: Path) -> Any | None:
    """The notebook at ``path``; None where there is none that can be read."""
    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception:  # it may hold anything at all
        return None


def write_pages(layout: CourseLayout, student: str, name: str, pages: Mapping[str, Any]) -> None:
    """Put pages where formgrader and ``generate_feedback`` look for them, in place of earlier ones."""
    folder = layout.autograded(student, name)
    folder.mkdir(parents=True, exist_ok=True)
    for notebook, page in pages.items():
        path = folder / f"{notebook}.ipynb"
        path.unlink(missing_ok=True)  # nbgrader makes them read-only
        nbformat.write(page, path)  # type: ignore[no-untyped-call]
    stamp = layout.handed_in(student, name) / "timestamp.txt"
    if stamp.is_file():  # formgrader compares the two
        (folder / stamp.name).unlink(missing_ok=True)
        shutil.copyfile(stamp, folder / stamp.name)
