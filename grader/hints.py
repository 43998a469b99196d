"""Hints: one more each time a student asks, from a nudge to nearly the line to write."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from grader.errors import UsageError

MINIMUM = 3
STATE = Path(".headstart") / "hints.json"
NO_MORE = "There are no more hints for this exercise: this was the last one."

_HEADING = re.compile(r"## Hint (?P<number>\d+)\s*")
_LIKE_A_HEADING = re.compile(r"#+\s*hint\b", re.IGNORECASE)


class HintError(UsageError):
    """There is no usable hint; the message says why and what to try."""


class Hint(NamedTuple):
    """Hint ``number`` of ``total``, counted from 1."""

    number: int
    total: int
    text: str


def load_hints(folder: Path, exercise: str) -> list[str]:
    """The hints of ``exercise`` from ``folder/<exercise>.md``, in the order they are to be given.

    A hint is what follows a line ``## Hint N``, N counting from 1; text before the first is for
    authors. Raises HintError when the file is missing or unreadable, a heading is misspelt or
    misnumbered, a hint is empty, or there are fewer than three.
    """
    known = sorted(path.stem for path in folder.glob("*.md"))
    if exercise not in known:
        raise HintError(
            f"There are no hints for {exercise!r}: {folder} has no such file. "
            f"Ask for one of: {', '.join(known) or 'none was found, so check the folder'}."
        )
    path = folder / f"{exercise}.md"
    try:
        hints = _parse(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise HintError(f"{path} cannot be read ({error}). Save it as UTF-8 text.") from error
    if len(hints) < MINIMUM:
        raise HintError(
            f"{path} holds {len(hints)} hints, and an exercise needs at least {MINIMUM}. "
            "Add the missing ones."
        )
    return hints


def _parse(text: str, path: Path) -> list[str]:
    hints: list[list[str]] = []
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading and int(heading["number"]) == len(hints) + 1:
            hints.append([])
        elif heading or (not fenced and _LIKE_A_HEADING.match(line)):
            raise HintError(
                f"{path}:{number}: {line.strip()!r} is not the heading that must come next, so two hints "
                f"would run into one. Write '## Hint {len(hints) + 1}' there."
            )
        elif hints:
            hints[-1].append(line)
    texts = ["\n".join(lines).strip() for lines in hints]
    if "" in texts:
        raise HintError(
            f"{path}: hint {texts.index('') + 1} is empty, so it helps nobody. Write it or take it out."
        )
    return texts


class HintState:
    """Which hint a student saw last, by exercise, kept in ``.headstart/hints.json`` under ``root``.

    Hints are read from ``hints``, by default ``root/exercises/hints``. A damaged state file
    counts as empty: the hints then start over.
    """

    def __init__(self, root: Path, hints: Path | None = None) -> None:
        self._path = root / STATE
        self._hints = hints or root / "exercises" / "hints"

    def next_hint(self, exercise: str) -> Hint:
        """One hint more than last time; after the last, that one again and a line that says so.

        Raises HintError as ``load_hints`` does, and when the state cannot be written.
        """
        hints = load_hints(self._hints, exercise)
        total = len(hints)
        shown = self._read()
        seen = min(shown.get(exercise, 0), total)
        number = min(seen + 1, total)
        self._write({**shown, exercise: number})
        text = hints[number - 1]
        return Hint(number, total, f"{text}\n\n{NO_MORE}" if seen == total else text)

    def reset(self, exercise: str | None = None) -> None:
        """Start over with the hints of ``exercise``, or of all. Raises HintError when that cannot be kept."""
        shown = self._read() if exercise else {}
        self._write({name: number for name, number in shown.items() if name != exercise})

    def _read(self) -> dict[str, int]:
        try:
            table = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(table, dict):
            return {}
        return {name: seen for name, seen in table.items() if type(seen) is int and seen > 0}

    def _write(self, shown: dict[str, int]) -> None:
        temporary = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(shown, indent=2, sort_keys=True) + "\n")
            os.replace(temporary, self._path)
        except OSError as error:
            if temporary:
                Path(temporary).unlink(missing_ok=True)
            raise HintError(
                f"{self._path} cannot be written ({error}), so the next hint could not be told from this "
                "one. Make the folder writable, or work in a copy that is."
            ) from error
