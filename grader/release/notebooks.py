"""The notebook form of an exercise: introduction, code cells, and a look at the student's own weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

_HOW = """\
Write your code where a cell below says `NotImplementedError`; run the cells from top to bottom.

Hand in this notebook or the file `{file}`, whichever you wrote in: the one you left untouched does
not count. The tests you were given read `{file}`, so copy your cells there to run them."""

_MARKDOWN, _CODE = "# %% [markdown]", "# %%"
# No kernel's version or path, which would differ from one machine to the next.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def make_notebook(stub: str, name: str, last: str = "") -> str:
    """The stub of the exercise file ``name`` as a notebook, the same text every time.

    The module's docstring becomes the introduction; the imports, and then each class or function,
    get a cell of their own. ``last`` is the source of the closing cell; its docstring stands above
    it, and what it imports from the exercise is left out, because the cells before define that.

    Raises SyntaxError when ``stub`` or ``last`` is not Python.
    """
    import jupytext  # type: ignore[import-untyped]  # here: it takes long to load
    import nbformat

    title, words, code = introduction(stub, name)
    above = "\n\n".join(part for part in (f"# {title}", words, _HOW.format(file=name)) if part)
    cells = [_markdown(above), *map(_code, code)]
    if last:
        heading, words, closing = _parts(without_own_import(last, PurePosixPath(name).stem))
        cells += [_markdown(f"## {heading}\n\n{words}".strip())] if heading else []
        cells.append(_code("\n\n".join(closing)))
    notebook = jupytext.reads("\n\n".join(cells) + "\n", fmt="py:percent")
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"  # jupytext draws them at random
        cell.metadata.clear()
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def introduction(source: str, name: str) -> tuple[str, str, list[str]]:
    """The title and the words of a file's docstring, and the code in the pieces that make cells.

    Without a docstring the title is what the file is called. Raises SyntaxError for no Python.
    """
    title, words, code = _parts(source)
    return title or PurePosixPath(name).stem.replace("_", " "), words, code


def _parts(source: str) -> tuple[str, str, list[str]]:
    """The docstring's first line, the rest of it, and the code in the pieces that make cells."""
    tree = ast.parse(source)
    title, _, words = (ast.get_docstring(tree) or "").partition("\n")
    return title.rstrip("."), words.strip("\n"), list(_pieces(source, tree))


def _pieces(source: str, tree: ast.Module) -> Iterator[str]:
    """Runs of statements up to the next class or function, with the comments above them."""
    lines = source.split("\n")
    body, begin = tree.body, 0
    if ast.get_docstring(tree) is not None:
        begin, body = body[0].end_lineno or 0, body[1:]
    followers = [
        before
        for before, statement in pairwise(body)
        if isinstance(statement, ast.ClassDef | ast.FunctionDef)
    ]
    ends = [_end_of(before, lines) for before in followers]
    for end in [*ends, len(lines)]:
        if piece := "\n".join(lines[begin:end]).strip("\n"):
            yield piece
        begin = end


def _end_of(statement: ast.stmt, lines: list[str]) -> int:
    """The statement's last line, comments counted in that are indented as its body is."""
    end = statement.end_lineno or 0
    while end < len(lines) and lines[end][:1].isspace() and lines[end].lstrip().startswith("#"):
        end += 1
    return end


def without_own_import(source: str, module: str) -> str:
    """``source`` without what it imports from ``module``."""
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _markdown(text: str) -> str:
    return "\n".join([_MARKDOWN, *(f"# {line}".rstrip() for line in text.split("\n"))])


def _code(text: str) -> str:
    return f"{_CODE}\n{text}"
