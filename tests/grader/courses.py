"""A course in nbgrader as its people use it: released, worked on, handed in, graded."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

from tests.grader.project import SMALL_SUITE, Project, Ran, copied, environment

BIN = Path(sys.executable).parent
COLLECTED = "2026-11-20 10:00:00 UTC"


@dataclass(frozen=True)
class Course:
    """A course folder of a project, as ``release --format nbgrader`` makes it."""

    root: Path
    project: Project
    db_url: str

    @classmethod
    def released(
        cls, folder: Path, suite: str | None = SMALL_SUITE, settings: str = "", db_url: str = ""
    ) -> Course:
        """A course whose assignment was generated, of a copy of the project; ``settings`` end its config."""
        project = copied(folder / "headstart", suite=suite)
        course = cls(folder / "course", project, db_url or f"sqlite:///{folder / 'course' / 'gradebook.db'}")
        assert project.run("release", "--format", "nbgrader", "--out", course.root).status == 0
        config = course.root / "nbgrader_config.py"
        config.write_text(f"{config.read_text()}{settings}\n")
        for assignment in sorted(path.name for path in (course.root / "source").iterdir()):
            assert course.nbgrader("generate_assignment", assignment).status == 0
        return course

    def nbgrader(self, *arguments: str, cwd: Path | None = None, seconds: float = 600) -> Ran:
        """``nbgrader ...`` in the course's folder, from an environment that is not activated."""
        ended = subprocess.run(
            [BIN / "nbgrader", *arguments],
            cwd=cwd or self.root,
            env={**environment(), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout, ended.stderr)

    def hand_in(
        self,
        student: str,
        notebooks: Mapping[str, str],
        assignment: str = "attention",
        files: Mapping[str, str] | None = None,
    ) -> Path:
        """What ``nbgrader collect`` would leave of a submission: notebooks, other files, when they came."""
        folder = self.root / "submitted" / student / assignment
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in notebooks.items():
            (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
        for path in (self.root / "release" / assignment).iterdir():  # comes along with every submission
            if path.suffix != ".ipynb":
                shutil.copy(path, folder / path.name)
        for name, text in (files or {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "timestamp.txt").write_text(COLLECTED)
        return folder

    def given_out(self, notebook: str, assignment: str = "attention") -> Any:
        return nbformat.read(self.root / "release" / assignment / f"{notebook}.ipynb", as_version=4)

    def filled(
        self,
        sources: Mapping[str, str],
        assignment: str = "attention",
        change: Callable[[Any], None] = lambda nb: None,
    ) -> dict[str, str]:
        """The released notebooks with the answers of these exercise files in their answer cells."""
        made = {}
        for file, text in sources.items():
            name = file.removesuffix(".py")
            notebook = self.given_out(name, assignment)
            fill(notebook, text)
            change(notebook)
            made[name] = nbformat.writes(notebook)
        return made

    def scores(self, assignment: str = "attention") -> dict[str, float]:
        """What the gradebook has: student -> score, before late penalties."""
        with Gradebook(self.db_url, "attention") as gradebook:
            found = gradebook.assignment_submissions(assignment)
            return {one.student.id: round(one.score, 2) for one in found}

    def cells(self, student: str, assignment: str = "attention") -> dict[str, float]:
        """The automatic score of each grade cell of a student."""
        with Gradebook(self.db_url, "attention") as gradebook:
            submission = gradebook.find_submission(assignment, student)
            return {grade.name: grade.auto_score for book in submission.notebooks for grade in book.grades}

    def page(
        self, student: str, notebook: str, step: str = "autograded", assignment: str = "attention"
    ) -> str:
        """The text of a page that nbgrader keeps."""
        (path,) = (self.root / step / student / assignment).glob(f"{notebook}.*")
        return path.read_text(encoding="utf-8")

    def graded_by_stock(self) -> None:
        """Let nbgrader run the notebooks itself from now on."""
        config = self.root / "nbgrader_config.py"
        config.write_text(config.read_text().replace("isolated=True", "isolated=False"))


def fill(notebook: Any, source: str) -> None:
    """Write an exercise file's answers into the answer cells of its notebook."""
    pieces = _pieces(source)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution"):
            cell.source = pieces.pop(marks["grade_id"], cell.source)
        elif cell.cell_type == "code" and not marks and cell.source.startswith("import math"):
            cell.source = f"{cell.source}\n{pieces.pop('', '')}".rstrip()
    for text in reversed(pieces.values()):  # helpers of the student's own
        notebook.cells.insert(1, nbformat.v4.new_code_cell(text))


def _pieces(source: str) -> dict[str, str]:
    """A file's classes and functions by name, and under "" all else; of no Python, all under its class."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        (name,) = re.findall(r"^class (\w+)", source, re.MULTILINE)
        return {name: source}
    pieces = {"": ""}
    for one in tree.body:
        text = "\n".join(source.split("\n")[first_line(one) - 1 : one.end_lineno])
        if isinstance(one, ast.ClassDef | ast.FunctionDef):
            pieces[one.name] = text
        elif not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            pieces[""] += f"{text}\n"
    return pieces


def first_line(statement: ast.stmt) -> int:
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])


def sources_of(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Those of these files that are in a folder, by name."""
    return {name: (folder / name).read_text() for name in files if (folder / name).exists()}
