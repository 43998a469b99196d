"""File names: which hold code, which belong to an exercise, how to show the odd ones."""

from __future__ import annotations

import importlib.metadata
import keyword
import re
import sys
from functools import cache

from grader.assignment import Assignment
from grader.submissions.gathered import NOTEBOOK_BYTES, SOURCE_BYTES

CODE_SUFFIXES = (".py.txt", ".py", ".ipynb")  # the longest first
_NOT_THE_STUDENTS = frozenset({"__pycache__", "__macosx", "node_modules", "site-packages", "venv"})
# Names that mean something to the grader or to Python's start-up, wherever they are installed.
_RESERVED = frozenset({"grader", "tests", "conftest", "sitecustomize", "usercustomize", "pytest"})
# What a browser, a file manager or a learning platform puts behind a name it has seen before.
_COPY_MARK = re.compile(r"(\s*\(\d{1,4}\)|[-_ ]\d{1,4}|[-_ ]+copy)$")
_LONGEST_SHOWN = 300  # characters; a name on a disk has up to 255


def shown(name: str) -> str:
    """``name`` as it may be printed: one line, not too long, no control characters, no undecodable bytes."""
    if len(name) > _LONGEST_SHOWN:
        return f"{shown(name[:_LONGEST_SHOWN])}…"
    plain = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def listed(items: list[str]) -> str:
    """``a``, ``a and b`` or ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def base_name(path: str) -> str:
    return path.rpartition("/")[2]


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def is_hidden(name: str) -> bool:
    return name.startswith(".")


def is_skipped_folder(name: str) -> bool:
    """Is a folder of this name never a student's own work?"""
    return is_hidden(name) or name.lower() in _NOT_THE_STUDENTS


def code_suffix(name: str) -> str | None:
    """The suffix that makes ``name`` a code file, or None."""
    lower = name.lower()
    return next((name[-len(suffix) :] for suffix in CODE_SUFFIXES if lower.endswith(suffix)), None)


def is_code(name: str) -> bool:
    return not is_hidden(name) and code_suffix(name) is not None


def is_notebook(name: str) -> bool:
    return name.lower().endswith(".ipynb")


def size_limit(name: str) -> int:
    """How many bytes of a code file of this name are read at most."""
    return NOTEBOOK_BYTES if is_notebook(name) else SOURCE_BYTES


def stem(path: str) -> str:
    """A code file's name without folder and suffix."""
    name = base_name(path)
    return name[: -len(code_suffix(name) or "")] if code_suffix(name) else name


def as_python(path: str) -> str:
    """The path under which Python would import a code file: ``a/b.py.txt`` is ``a/b.py``."""
    suffix = code_suffix(path)
    return f"{path[: -len(suffix)]}.py" if suffix else path


def exercise_file(path: str, assignment: Assignment) -> str | None:
    """The exercise file that ``path`` is meant to be, if its name says so.

    Case, spaces, hyphens and underscores do not matter, nor do the marks of a copy:
    ``Self-Attention (1).ipynb`` is meant to be ``self_attention.py``.
    """
    if code_suffix(path) is None:
        return None
    name = stem(path).lower().strip()
    tried = {_squeezed(name)}
    while (shorter := _COPY_MARK.sub("", name)) != name:
        name = shorter
        tried.add(_squeezed(name))
    return next((file for file in assignment.files if _squeezed(stem(file)) in tried), None)


def _squeezed(name: str) -> str:
    return re.sub(r"[-_\s]+", "", name)


@cache
def _installed() -> frozenset[str]:
    return frozenset(importlib.metadata.packages_distributions())


def is_taken(module: str) -> bool:
    """Would a student's module of this name stand in for Python's, a library's or the grader's?"""
    if module in _RESERVED or module in sys.stdlib_module_names or module.startswith("__"):
        return True
    return module in _installed()


def is_plain_module(module: str) -> bool:
    """Can ``module`` be imported by this name everywhere: ASCII, an identifier, nobody else's?"""
    return (
        module.isascii() and module.isidentifier() and not keyword.iskeyword(module) and not is_taken(module)
    )
