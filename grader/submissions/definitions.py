"""What a module defines at its top level, read off its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def defined_names(body: Iterable[ast.stmt]) -> set[str]:
    """The names that these statements define by class, def or assignment, also inside if, try or a loop.

    Imports do not define: the file they import from does.
    """
    found: set[str] = set()
    for statement in _flattened(body):
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign):
            found.update(name for target in statement.targets for name in _stored(target))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            found.update(_stored(statement.target))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.NamedExpr):
            found.update(_stored(statement.value.target))
    return found


def renamed_imports(body: Iterable[ast.stmt]) -> set[str]:
    """The new names in ``from core import Attention as SelfAttention`` and the like."""
    return {
        alias.asname
        for statement in _flattened(body)
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.asname not in (None, alias.name)
    }


def _flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    waiting = list(body)
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, ast.If) and is_main_guard(statement):
            waiting.extend(statement.orelse)
        elif isinstance(statement, ast.If):
            waiting.extend([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.With):
            waiting.extend(statement.body)
        elif isinstance(statement, ast.For | ast.While):
            waiting.extend([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Match):
            waiting.extend(inner for case in statement.cases for inner in case.body)
        elif isinstance(statement, ast.Try | ast.TryStar):
            waiting.extend([*statement.body, *statement.orelse, *statement.finalbody])
            waiting.extend(inner for handler in statement.handlers for inner in handler.body)


def _stored(target: ast.expr) -> set[str]:
    return {
        node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def is_main_guard(statement: ast.stmt) -> bool:
    """Is this ``if __name__ == "__main__":``? Its body does not run when the file is imported."""
    if not (isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare)):
        return False
    sides = [statement.test.left, *statement.test.comparators]
    return (
        len(sides) == 2
        and isinstance(statement.test.ops[0], ast.Eq)
        and any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
        and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
    )
