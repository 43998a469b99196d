"""The notebooks that a teacher sees in formgrader and a student gets as feedback.

Cells of the assignment come from its released form, so that what anybody did to their marks counts for
nothing and no hidden test is in them; only the answers, and cells of the student's own, are the student's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from grader.exports.nbgrader.cells import CellScore
from grader.text import visible

_MISSING = "# This cell was missing from what was handed in, and was put back as it was given out.\n"
Cell = Any  # a NotebookNode: nbformat has no types


def restored(submitted: Any, released: Any) -> Any:
    """``submitted`` with the marked cells of ``released`` as they should be, in their order.

    An answer is the last cell with its ``grade_id``, whatever else was done to that cell. Cells that were
    copied, renumbered or retyped and are nobody's answer stay as the student's own, without marks. What
    is missing is put back.
    """
    answers = {grade_id_of(cell): cell for cell in submitted.cells if grade_id_of(cell)}
    marked = {grade_id_of(cell): cell for cell in released.cells if grade_id_of(cell)}
    unmarked = [cell.source for cell in released.cells if not grade_id_of(cell)]
    own = _own_cells(submitted, marked, answers, unmarked)
    made = copy.deepcopy(released)
    made.metadata.pop("widgets", None)
    made.cells = [*own.pop(None, [])]
    for cell in released.cells:
        name = grade_id_of(cell)
        made.cells.append(_as_released(cell, answers.get(name)) if name else copy.deepcopy(cell))
        made.cells += own.pop(name, []) if name else []
    for number, cell in enumerate(made.cells, start=1):
        cell["id"] = f"cell-{number}"
    return made


def grade_id_of(cell: Cell) -> str | None:
    """The cell's name in nbgrader's metadata; None where there is none, or not the name of one."""
    marks = cell.metadata.get("nbgrader") if isinstance(cell.metadata, dict) else None
    name = marks.get("grade_id") if isinstance(marks, dict) else None
    return name if isinstance(name, str) and name else None


def _as_released(cell: Cell, answer: Cell | None) -> Cell:
    made = copy.deepcopy(cell)
    if made.metadata.nbgrader.solution:
        made.source = _MISSING + made.source if answer is None else _text_of(answer)
    if made.cell_type == "code":
        made.outputs, made.execution_count = [], None
    return made


def _own_cells(
    submitted: Any, marked: Mapping[str | None, Cell], answers: Mapping[str | None, Cell], unmarked: list[str]
) -> dict[str | None, list[Cell]]:
    """Cells that are none of the assignment's, by the marked cell they come after (None: before all)."""
    own: dict[str | None, list[Cell]] = {}
    after: str | None = None
    for cell in submitted.cells:
        name = grade_id_of(cell)
        if name in marked and answers[name] is cell:
            after = name
        elif name not in marked and _text_of(cell) not in unmarked:
            own.setdefault(after, []).append(_plain(cell))
        elif name in marked and marked[name].metadata.nbgrader.solution:
            own.setdefault(after, []).append(_plain(cell))  # an earlier one of two answers
    return own


def _plain(cell: Cell) -> Cell:
    from nbformat.v4 import new_code_cell, new_markdown_cell

    new = new_code_cell if cell.cell_type == "code" else new_markdown_cell
    return new(_text_of(cell))  # type: ignore[no-untyped-call]


def _text_of(cell: Cell) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(map(str, source))


def with_verdicts(notebook: Any, scores: Mapping[str, CellScore]) -> Iterator[Cell]:
    """Put under each grade cell what became of it; yields the answer cells, for comments."""
    from nbformat.v4 import new_output

    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade") and cell.cell_type == "code":
            given = scores.get(marks["grade_id"])
            text = visible(given.message, keep="\n") + "\n" if given else ""
            cell.outputs = (
                [new_output("stream", name="stdout", text=text)] if text else []  # type: ignore[no-untyped-call]
            )
        elif marks.get("solution"):
            yield cell
