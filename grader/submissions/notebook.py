"""Notebooks as Python source: code cells only, never executed, demonstrations left out."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from grader.submissions.definitions import defined_names
from grader.submissions.notebook_slice import Cell, slice_cells
from grader.submissions.python_source import SourceError, parse

_MAX_CELLS = 2000
# Cell magics whose cell is still Python; the cells of all others (%%bash, %%html...) are not.
_PYTHON_CELL_MAGICS = frozenset({"capture", "prun", "python", "python3", "time", "timeit"})
_MAGIC = re.compile(r"^(?P<indent>[ \t]*)(?P<magic>[!?].*|%[A-Za-z%].*|[\w.]+\?\??[ \t]*)$")
_ASSIGNED_MAGIC = re.compile(r"^(?P<target>[ \t]*\w[\w, \t]*=)[ \t]*(?P<magic>!.*|%[A-Za-z].*)$")


@dataclass(frozen=True)
class BrokenCell:
    """A code cell that is no Python: its number, its text and the rest of the sentence about it."""

    number: int
    text: str
    reason: str


@dataclass(frozen=True)
class Notebook:
    """A notebook, read: the source that its exercise names need, and the cells that are no Python.

    ``in_text`` are exercise names that only a text cell would define, if it were one of code.
    """

    source: str
    defines: frozenset[str]
    found: frozenset[str]
    broken: tuple[BrokenCell, ...]
    in_text: frozenset[str] = frozenset()


def read_notebook(text: str, names: Collection[str]) -> Notebook:
    """Read a notebook's JSON and keep what the exercise ``names`` need.

    Every code cell begins in the result with a comment ``# cell N``, N counting code cells from
    1; what was left out are blank lines. Raises SourceError if it is no notebook.
    """
    cells: list[Cell] = []
    broken: list[BrokenCell] = []
    found: set[str] = set()
    codes, texts = _cells(text)
    for number, code in enumerate(codes, start=1):
        try:
            python, tree = _parse_cell(code)
            found |= defined_names(tree.body)
        except (SourceError, RecursionError) as error:
            reason = (
                str(error)
                if isinstance(error, SourceError)
                else "is nested too deeply to be read. Simplify it."
            )
            broken.append(BrokenCell(number, code, reason))
            python, tree = "\n" * code.count("\n"), ast.Module([], [])
        cells.append(Cell(number, python.split("\n"), tree))
    defines = frozenset(names) & found
    source = slice_cells(cells, defines)
    if defines:
        parse(source)  # what was cut must still be Python
    in_text = frozenset(name for name in names if _is_in(texts, name)) - found
    return Notebook(source, defines, frozenset(found), tuple(broken), in_text)


def _is_in(texts: Iterable[str], name: str) -> bool:
    definition = re.compile(rf"^(class|def)[ \t]+{re.escape(name)}\b", re.MULTILINE)
    return any(definition.search(text) for text in texts)


def _cells(text: str) -> tuple[list[str], list[str]]:
    """The code cells and the others of a notebook's JSON. Raises SourceError."""
    import nbformat
    from nbformat.reader import NotJSONError, reads

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notebook = nbformat.convert(reads(text), 4)  # type: ignore[no-untyped-call]
        sources = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        texts = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] != "code"]
    except (NotJSONError, RecursionError) as error:
        raise SourceError(
            "is not a notebook: its content is not JSON. Save it in Jupyter and try again."
        ) from error
    except Exception as error:  # the JSON may be anything, and nbformat takes its shape for granted
        raise SourceError(
            "is not a notebook that Jupyter's reader understands. Open it in Jupyter and save it again."
        ) from error
    if len(sources) > _MAX_CELLS:
        raise SourceError(
            f"has more than {_MAX_CELLS} code cells. Hand in a notebook with the exercises only."
        )
    return [_as_text(source) for source in sources], [_as_text(text) for text in texts]


def _as_text(source: object) -> str:
    text = str(source).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.encode("utf-8", "replace").decode("utf-8")  # JSON can spell half a character


def _parse_cell(code: str) -> tuple[str, ast.Module]:
    """The cell as Python and its tree. Magics are commented out only where it is no Python as it stands."""
    lines = code.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        word = re.match(r"%%(\w*)", lines[first])
        if word is None or word[1] not in _PYTHON_CELL_MAGICS:
            return "\n".join(f"# {line}" for line in lines), ast.Module([], [])
        lines[first] = f"# {lines[first]}"
    plain = "\n".join(lines)
    try:
        return plain, parse(plain)
    except SourceError as error:
        without = "\n".join(_without_magics(lines))
        if without == plain:
            raise error
        return without, parse(without)


def _without_magics(lines: list[str]) -> list[str]:
    result: list[str] = []
    continued = False
    for line in lines:
        if continued:
            result.append(f"# {line}")
        elif match := _MAGIC.match(line):
            result.append(
                f"{match['indent']}pass  # {match['magic']}"
            )  # pass: it may be all there is in a block
        elif match := _ASSIGNED_MAGIC.match(line):
            result.append(f"{match['target']} None  # {match['magic']}")
        else:
            result.append(line)
            continue
        continued = line.endswith("\\")
    return result
