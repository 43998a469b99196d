"""The house stays as docs/architecture.md draws it: every room is on the map, every arrow points one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grader.project import ROOT

MAP = (ROOT / "docs/architecture.md").read_text()
# Each floor may import from the ones above it in this list, and from its own room; rooms side by side do not
# know each other. "grader" are the modules that stand in no room.
FLOORS = (
    ("candidate",),
    ("grader",),
    ("sandbox", "submissions"),
    ("examination",),
    ("store",),
    ("reports", "exports"),
    ("run",),
    ("release",),
    ("quality",),
    ("redteam",),
    ("cli",),
)
# What a student's copy starts with stands in no room, and calls what it needs when it is called.
TOOLS = frozenset({"grader.__main__", "grader.notebook", "grader.doctor"})


def modules() -> dict[str, Path]:
    """Every module of the grader, by its name."""
    paths = (ROOT / "grader").rglob("*.py")
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}


def imports(path: Path) -> Iterator[str]:
    """The modules that a file names in import statements, wherever they stand."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 2 or (ROOT / "grader" / parts[-1]).is_dir() else "grader"


def arrows() -> dict[tuple[str, str], list[str]]:
    """From room to room, and which modules make that arrow."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, path in modules().items():
        for target in imports(path):
            if target.startswith("grader.") and name not in TOOLS and room(target) != room(name):
                found.setdefault((room(name), room(target)), []).append(f"{name} -> {target}")
    return found


FLOOR = {name: number for number, floor in enumerate(FLOORS) for name in floor}


def test_every_arrow_points_one_way() -> None:
    upward = [ways for (source, target), ways in arrows().items() if FLOOR[target] >= FLOOR[source]]
    assert upward == []


def test_nobody_imports_the_commands() -> None:
    assert [ways for (_, target), ways in arrows().items() if target == "cli"] == []


def test_a_candidate_knows_nothing_of_the_grader() -> None:
    assert [target for source, target in arrows() if source == "candidate"] == []


def test_the_grader_knows_no_assignment() -> None:
    known = [
        (name, one)
        for name, path in modules().items()
        for one in imports(path)
        if one.split(".")[0] == "tests"
    ]
    assert known == []


def test_every_room_is_on_the_map_and_the_map_has_no_other() -> None:
    there = {path.name for path in (ROOT / "grader").iterdir() if (path / "__init__.py").is_file()}
    assert set(re.findall(r"^\| `(\w+)/` \|", MAP, re.MULTILINE)) == there
    assert set(FLOOR) - {"grader"} == there


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:grader|tests|docs)/[\w/.]+\.\w+)`", MAP))))
def test_every_file_on_the_map_is_there(name: str) -> None:
    assert (ROOT / name).is_file()


def test_the_glossary_is_short() -> None:
    words = re.findall(r"^\*\*[\w -]+\*\*", MAP.split("## Glossary")[1], re.MULTILINE)
    assert 10 <= len(words) <= 20
