"""What docs/security.md promises, read from its tables, so that nobody has to say it twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.quality.cases import CaseError
from grader.sandbox.levels import Level
from grader.sandbox.rules import find_rules
from grader.sandbox.stage import spare_user

_TABLES = ("What each level prevents", "What each level bounds")


@dataclass(frozen=True)
class Promises:
    """The cells of the tables by row (named in the last column) and level."""

    cells: Mapping[str, Mapping[str, str]]

    def hold(self, row: str, level: Level) -> bool:
        """Whether that row promises anything on this machine, at this level, for who runs this."""
        own_user = spare_user() is not None
        match self.cells[row][str(level)]:
            case "as root, with an open interpreter":
                return own_user and not find_rules(level).keep_reading
            case "as root":
                return own_user
            case cell:
                return cell in ("prevented", "bounded")


def load_promises(root: Path) -> Promises:
    """The tables of ``root/docs/security.md``. Raises CaseError where they are not as they should be."""
    path = root / "docs" / "security.md"
    cells: dict[str, Mapping[str, str]] = {}
    try:
        text = path.read_text(encoding="utf-8")
        for title in _TABLES:
            head, _, *rows = _lines(text.split(f"## {title}\n")[1].split("\n## ")[0])
            cells.update({row[-1].strip("`"): dict(zip(head, row, strict=True)) for row in rows})
    except (OSError, IndexError, ValueError) as error:
        raise CaseError(f"{path} lacks a table that can be read ({error}). Put it back.") from error
    return Promises(cells)


def _lines(section: str) -> list[list[str]]:
    lines = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines]
