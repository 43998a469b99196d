"""An exercise as nbgrader's own kind of notebook: solutions between its markers, a cell for each aspect.

The cells' metadata follow schema 3 of nbgrader's format. What a student gets is made from this by
``nbgrader generate_assignment``, which takes out the solutions and the hidden part of each grade cell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.assignment import Exercise
from grader.exports.nbgrader.cells import grade_id
from grader.release.notebooks import METADATA, introduction, without_own_import
from grader.text import figure

_BEGIN = re.compile(r"^(?P<indent> *)### BEGIN SOLUTION(?:: (?P<sentence>.*))?$", re.MULTILINE)
_HOW = """\
Write your code where a cell says `# YOUR CODE HERE`, in place of the line below it. Cells that are
locked come back as they were when your work is collected, and so do deleted ones; write anything
else you like into cells of your own.

The cells at the end run the public tests on your code, right here: run one to see whether that aspect
holds, or press *Validate* to run them all. `README.md` beside this notebook explains the shapes and the
mask rule. The tests here are not everything: hidden ones make up the rest of the points."""

# in the released cell this part is gone; isolated grading never runs it
_HIDDEN = """\
### BEGIN HIDDEN TESTS
import runpy

runpy.run_path("../../../headstart/stock.py")["score"]("{exercise}", "{aspect}", globals())
### END HIDDEN TESTS"""

Points = Mapping[str, float]  # aspect -> points, in the suite's order


def source_notebook(
    source: str, last: str, exercises: Sequence[Exercise], points: Mapping[str, Points]
) -> str:
    """The instructor's notebook of one file: its solution, and the grade cells of its exercises.

    ``last`` is the source of the closing cell, if any; ``points`` has those of each exercise by aspect.
    The same text every time. Raises SyntaxError when ``source`` or ``last`` is not Python.
    """
    import nbformat
    from nbformat.v4 import new_notebook

    cells = [*_answers(source, exercises[0].file), *_closing(last, exercises[0].file)]
    for exercise in exercises:
        cells += _graded(exercise, points[exercise.name])
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{number}"
    notebook = new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA))  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def _answers(source: str, file: str) -> Iterator[Any]:
    title, words, pieces = introduction(source, file)
    yield _text("introduction", "\n\n".join(part for part in (f"# {title}", words, _HOW) if part))
    for piece in pieces:
        name = _name(piece)
        if name is None or not _BEGIN.search(piece):
            yield _code(piece)
        else:
            yield _code(_BEGIN.sub(_as_nbgrader, piece), grade_id=name, solution=True)


def _name(piece: str) -> str | None:
    """The class or function that a piece of the file defines, if it defines one."""
    found = [one.name for one in ast.parse(piece).body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    return found[0] if found else None


def _as_nbgrader(marker: re.Match[str]) -> str:
    """nbgrader's marker; the sentence on what is missing stays behind, above where the answer goes."""
    indent, sentence = marker["indent"], marker["sentence"]
    return (f"{indent}# {sentence}\n" if sentence else "") + f"{indent}### BEGIN SOLUTION"


def _closing(last: str, file: str) -> Iterator[Any]:
    if last:
        title, words, pieces = introduction(without_own_import(last, file.removesuffix(".py")), file)
        yield _text("closing", f"## {title}\n\n{words}".strip())
        yield _code("\n\n".join(pieces))


def _graded(exercise: Exercise, points: Points) -> Iterator[Any]:
    rows = "\n".join(f"| {aspect} | {figure(worth)} |" for aspect, worth in points.items())
    names = " and ".join(f"`{name}`" for name in exercise.defines)
    table = f"| aspect | points |\n|---|---|\n{rows}"
    yield _text(
        f"{exercise.name}-tests", f"## {exercise.title}: the tests\n\nThey are about {names}.\n\n{table}"
    )
    for aspect, worth in points.items():
        visible = (
            f"# {exercise.title}, {aspect}: {figure(worth)} points\n"
            "from headstart import check\n\n"
            f'check("{exercise.name}", "{aspect}")'
        )
        hidden = _HIDDEN.format(exercise=exercise.name, aspect=aspect)
        yield _code(
            f"{visible}\n{hidden}",
            grade_id=grade_id(exercise.name, aspect),
            grade=True,
            locked=True,
            points=_number(worth),
        )


def _number(points: float) -> float | int:
    return int(points) if points == int(points) else points


def _text(grade_id: str, text: str) -> Any:
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(text, metadata=_metadata(grade_id, locked=True))  # type: ignore[no-untyped-call]


def _code(text: str, grade_id: str | None = None, **marks: Any) -> Any:
    from nbformat.v4 import new_code_cell

    metadata = {} if grade_id is None else _metadata(grade_id, **marks)
    return new_code_cell(text, metadata=metadata)  # type: ignore[no-untyped-call]


def _metadata(grade_id: str, **marks: Any) -> dict[str, Any]:
    """Schema 3: what nbgrader needs to know about a cell."""
    usual = {"grade": False, "grade_id": grade_id, "locked": False, "schema_version": 3, "solution": False}
    return {"nbgrader": {**usual, "task": False, **marks}}
