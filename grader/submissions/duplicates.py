"""When several files define the same name: which of them the student wrote, where that can be told.

A handed-out exercise comes as a file and as a notebook, and whoever works in one of them hands in
the other untouched. So what still only raises NotImplementedError gives way to what was written.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.submissions.finder import CodeFile
from grader.submissions.notebook_slice import Cell, slice_cells
from grader.submissions.python_source import SourceError, parse


@dataclass(frozen=True)
class _Definition:
    """One file's definition of a name: all it rests on, its functions, and which of them are unwritten."""

    file: CodeFile
    whole: tuple[str, ...]
    functions: Mapping[str, str]
    unwritten: frozenset[str]

    @property
    def is_untouched(self) -> bool:
        """Is there not one function that does anything?"""
        return bool(self.functions) and self.unwritten == self.functions.keys()

    def yields_to(self, other: _Definition) -> bool:
        """Does this say nothing that ``other`` does not: equal to it, or unwritten where they differ?"""
        if self.whole == other.whole or self.is_untouched:
            return True
        differing = {name for name, text in self.functions.items() if other.functions.get(name) != text}
        return bool(differing) and differing <= self.unwritten


def written(name: str, files: Sequence[CodeFile]) -> tuple[list[CodeFile], bool]:
    """Of the files that define ``name``, those the student wrote, and whether any of them will do."""
    if len({file.text for file in files}) < 2:
        return list(files), True
    found = [_read(name, file) for file in files]
    for one in found:
        if all(other.yields_to(one) for other in found):
            return [other.file for other in found if one.yields_to(other)], True
    return [one.file for one in found if not one.is_untouched], False


def is_untouched(name: str, file: CodeFile) -> bool:
    """Does nothing in this definition of ``name`` do more than raise NotImplementedError?"""
    return _read(name, file).is_untouched


def _read(name: str, file: CodeFile) -> _Definition:
    text = file.text or ""
    try:
        # of a module, too, only what the name needs: a notebook has been cut like that already
        needed = parse(slice_cells([Cell(1, text.split("\n"), parse(text))], {name}))
        functions = {place: node for top in needed.body for place, node in _functions(name, top)}
        texts = {place: _dump(node) for place, node in functions.items()}
        unwritten = frozenset(place for place, node in functions.items() if _only_raises(node))
        if any(_patches(name, top) for top in needed.body):
            unwritten = frozenset()
        return _Definition(file, _whole(needed), texts, unwritten)
    except (SourceError, RecursionError):
        return _Definition(file, (text,), {}, frozenset())


def _whole(needed: ast.Module) -> tuple[str, ...]:
    """All statements as text, imports first and each once: cells tend to repeat them."""
    imports = [top for top in needed.body if isinstance(top, ast.Import | ast.ImportFrom)]
    single = {ast.dump(_single(one, alias)) for one in imports for alias in one.names}
    return (*sorted(single), *(_dump(top) for top in needed.body if top not in imports))


def _single(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(statement.module, [alias], statement.level)


def _functions(name: str, statement: ast.stmt) -> list[tuple[str, ast.FunctionDef]]:
    """The function ``name``, or the methods of the class ``name``, each with its place in it."""
    if isinstance(statement, ast.FunctionDef) and statement.name == name:
        return [(name, statement)]
    if isinstance(statement, ast.ClassDef) and statement.name == name:
        methods = [node for node in statement.body if isinstance(node, ast.FunctionDef)]
        return [(f"{name}.{node.name}", node) for node in methods]
    return []


def _patches(name: str, statement: ast.stmt) -> bool:
    """Does this give the class ``name`` something after it was defined?"""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.Import | ast.ImportFrom):
        return False
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))


def _only_raises(function: ast.FunctionDef) -> bool:
    """Can calling it end in nothing but NotImplementedError?"""
    last = function.body[-1]
    raised = last.exc if isinstance(last, ast.Raise) else None
    kind = raised.func if isinstance(raised, ast.Call) else raised
    if not (isinstance(kind, ast.Name) and kind.id == "NotImplementedError"):
        return False
    return not any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _dump(node: ast.AST) -> str:
    """The tree as text, without what does nothing: places, comments, docstrings."""
    copy = ast.parse(ast.unparse(node))
    for inner in ast.walk(copy):
        if isinstance(inner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = inner.body[0] if inner.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                inner.body = inner.body[1:]
    return ast.dump(copy)
