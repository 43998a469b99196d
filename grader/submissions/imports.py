"""The student's own modules that a file imports, and imports rewritten for a flat folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.submissions.names import folder_of, is_taken


@dataclass(frozen=True)
class Target:
    """A module of the submission that is imported: where it must lie, and its file there now."""

    key: str
    path: str


@dataclass(frozen=True)
class Rewrite:
    """A relative import that has no package to be relative to, and what it becomes."""

    statement: ast.ImportFrom
    replacement: str


Found = tuple[list[Target], list[Rewrite]]


def follow(tree: ast.Module, path: str, key: str, roots: list[str], index: Mapping[str, str]) -> Found:
    """What the file ``path``, to be stored as ``key``, imports from its own submission.

    ``roots`` are the folders that absolute imports may start from, the nearest first. ``index``
    maps the path that Python would look for to the file in the submission. A module whose name
    belongs to Python, a library or the grader is never taken from the submission.
    """
    targets: list[Target] = []
    rewrites: list[Rewrite] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                targets += _absolute(alias.name, (), roots, index)
        elif isinstance(node, ast.ImportFrom):
            members = tuple(alias.name for alias in node.names)
            if node.level == 0:
                targets += _absolute(node.module or "", members, roots, index)
            elif node.level <= key.count("/"):
                targets += _relative(node, members, path, key, index)
            elif (base := _above(folder_of(path), node.level - 1)) is not None:
                found = _absolute(node.module or "", members, [base], index)
                targets += found
                if found and (replacement := _without_dots(node, found)):
                    rewrites.append(Rewrite(node, replacement))
    return targets, rewrites


def _absolute(
    module: str, members: tuple[str, ...], roots: list[str], index: Mapping[str, str]
) -> list[Target]:
    tops = {module.partition(".")[0]} if module else set(members)
    if any(is_taken(top) for top in tops):
        return []
    for root in roots:
        found = list(_resolved(module, members, root, index))
        if found:
            return found
    return []


def _relative(
    node: ast.ImportFrom, members: tuple[str, ...], path: str, key: str, index: Mapping[str, str]
) -> Iterator[Target]:
    base, prefix = _above(folder_of(path), node.level - 1), _above(folder_of(key), node.level - 1)
    if base is not None and prefix is not None:
        for target in _resolved(node.module or "", members, base, index):
            yield Target(_joined(prefix, target.key), target.path)


def _resolved(module: str, members: tuple[str, ...], root: str, index: Mapping[str, str]) -> Iterator[Target]:
    """The files that importing ``module``, and ``members`` from it, would load if found from ``root``."""
    parts = module.split(".") if module else []
    wanted = [parts[:length] for length in range(1, len(parts) + 1)]
    wanted += [[*parts, member] for member in members if member != "*"]
    for dotted in wanted:
        name = "/".join(dotted)
        for key in (f"{name}/__init__.py", f"{name}.py"):  # a package wins over a module, as in Python
            if (path := index.get(_joined(root, key))) is not None:
                yield Target(key, path)
                break


def _without_dots(node: ast.ImportFrom, found: list[Target]) -> str | None:
    if node.module:
        return ast.unparse(ast.ImportFrom(module=node.module, names=node.names, level=0))
    modules = {target.key.removesuffix("/__init__.py").removesuffix(".py") for target in found}
    if all(alias.name in modules for alias in node.names):
        return ast.unparse(ast.Import(names=node.names))
    return None


def rewritten(text: str, rewrites: list[Rewrite]) -> str:
    """``text`` with the rewrites made; every other line keeps its number."""
    lines = text.split("\n")
    for rewrite in sorted(
        rewrites, key=lambda one: (one.statement.lineno, one.statement.col_offset), reverse=True
    ):
        node = rewrite.statement
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = lines[first].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset :].decode()
        lines[first : last + 1] = [before + rewrite.replacement + after, *[""] * (last - first)]
    return "\n".join(lines)


def roots_of(path: str) -> list[str]:
    """The folders that a file's absolute imports may start from: its own, then those above it."""
    folder = folder_of(path)
    roots = [folder]
    while folder:
        folder = folder_of(folder)
        roots.append(folder)
    return roots


def _above(folder: str, levels: int) -> str | None:
    for _ in range(levels):
        if not folder:
            return None
        folder = folder_of(folder)
    return folder


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def mentions_import(text: str) -> bool:
    """Could ``text`` import anything? Spares parsing what cannot."""
    return re.search(r"\bimport\b", text) is not None
