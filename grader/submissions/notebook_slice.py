"""Which statements of a notebook its exercises need: a slice by the names that are used."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from grader.submissions.definitions import is_main_guard


@dataclass(frozen=True)
class Cell:
    """A code cell: its number, its lines and its tree."""

    number: int
    lines: list[str]
    tree: ast.Module


@dataclass
class _Unit:
    """Statements that share lines, and so are kept or left out together.

    ``binds`` and ``uses`` are names of the module; ``alters`` are those it sets an attribute or
    an item of.
    """

    cell: Cell
    first: int  # line of the cell, from 1
    last: int
    statements: list[ast.stmt] = field(default_factory=list)
    binds: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    alters: set[str] = field(default_factory=set)

    @property
    def imports_only(self) -> bool:
        return all(isinstance(statement, ast.Import | ast.ImportFrom) for statement in self.statements)

    @property
    def imports_everything(self) -> bool:
        return any(
            isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names)
            for statement in self.statements
        )


def slice_cells(cells: list[Cell], names: Collection[str]) -> str:
    """Python source with what ``names`` need of the cells; every other line is blank.

    Needed are the statements that bind a name used by a needed statement, and those that set an
    attribute or an item of a needed class, function or value (not of an imported module).
    """
    units = [unit for cell in cells for unit in _units(cell)] if names else []
    kept = _needed(units, set(names))
    shown = {(unit.cell.number, line) for unit in kept for line in range(unit.first, unit.last + 1)}
    lines: list[str] = []
    for cell in cells:
        lines.append(f"# cell {cell.number}")
        lines += [
            text if (cell.number, line) in shown else "" for line, text in enumerate(cell.lines, start=1)
        ]
    if lines and (futures := _futures(cells)) and names:
        lines[0] = f"from __future__ import {', '.join(futures)}  {lines[0]}"  # allowed on top only
    return "\n".join(lines) + "\n"


def _needed(units: list[_Unit], needed: set[str]) -> list[_Unit]:
    binding: dict[str, list[_Unit]] = defaultdict(list)
    altering: dict[str, list[_Unit]] = defaultdict(list)
    for unit in units:
        for name in unit.binds:
            binding[name].append(unit)
        for name in unit.alters:
            altering[name].append(unit)
    kept: dict[int, _Unit] = {}
    waiting, seen = list(needed), set(needed)
    while waiting:
        name = waiting.pop()
        found = list(binding[name])
        if any(not unit.imports_only for unit in found):  # the student's own, not a library's
            found += altering[name]
        for unit in found:
            kept[id(unit)] = unit
            waiting += unit.uses - seen
            seen |= unit.uses
    if any(not binding[name] and not hasattr(builtins, name) for name in seen):
        kept.update((id(unit), unit) for unit in units if unit.imports_everything)
    return list(kept.values())


def _units(cell: Cell) -> Iterator[_Unit]:
    unit: _Unit | None = None
    for statement in cell.tree.body:
        if _is_future(statement):
            continue
        first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])
        last = statement.end_lineno or statement.lineno
        if unit is not None and first <= unit.last:
            unit.last = max(unit.last, last)
        else:
            if unit is not None:
                yield unit
            unit = _Unit(cell, first, last)
        unit.statements.append(statement)
        if not is_main_guard(statement):
            _note_names(statement, unit)
    if unit is not None:
        yield unit


def _note_names(statement: ast.stmt, unit: _Unit) -> None:
    try:
        top = symtable.symtable(ast.unparse(statement), "cell", "exec")
    except (SyntaxError, RecursionError, ValueError):
        return  # nothing that could run: nothing that could be needed
    for symbol in top.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            unit.binds.add(symbol.get_name())
        if symbol.is_referenced():
            unit.uses.add(symbol.get_name())
    waiting = list(top.get_children())
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        unit.uses.update(symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global())
    unit.alters |= _altered(statement)


def _altered(statement: ast.stmt) -> set[str]:
    """``Name`` of every ``Name.attribute = ...``, ``Name[item] = ...`` and ``setattr(Name, ...)``."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    elif (
        isinstance(statement, ast.Expr)
        and isinstance(call := statement.value, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "setattr"
    ):
        return {argument.id for argument in call.args[:1] if isinstance(argument, ast.Name)}
    roots: set[str] = set()
    for target in targets:
        inner = target
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if inner is not target and isinstance(inner, ast.Name):
            roots.add(inner.id)
    return roots


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__" and statement.level == 0


def _futures(cells: list[Cell]) -> list[str]:
    return sorted(
        {
            alias.name
            for cell in cells
            for statement in cell.tree.body
            if isinstance(statement, ast.ImportFrom) and _is_future(statement)
            for alias in statement.names
        }
    )
