"""What must not be published: lines of the solutions, hidden tests, and the markers themselves.

The search is deliberately blunt. Both sides are squashed (no whitespace, one kind of quote, no
``#`` or backslash) and compared as text, so re-indenting, re-wrapping, commenting out or adding
comments hides nothing. Better to refuse a release for a line that looks like an answer than to
publish one.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import tokenize
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from grader.release.markers import parse, tokens_of
from grader.release.stubs import digest

SHORTEST = 9  # characters, squashed: anything shorter stands in any program
SHORTEST_FRAGMENT = 24  # of one line out of a statement of several lines, such as ".transpose(1, 2)"

# Lines that every program about tensors has tell no answer: what is left of a line without these
# must hold a call, a subscript or arithmetic to count.
_PLUMBING = re.compile(
    r"super\(\)\.__init__\(\)"
    r"|\b\w+\.(size\(-?\d+\)|dim\(\)|size\(\)|shape\[-?\d+\])"
    r"|\bfor \w+ in range\(\w+\)"
)
_WORK = re.compile(r"[(\[@*/%+\-&|~^]")

_MARKER = re.compile(r"(BEGIN|END)[ _]?SOLUTION")
_TEST_NAME = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+(test\w*)|class[ \t]+(Test\w*))", re.MULTILINE)
_GENERIC_FILES = frozenset({"__init__.py", "conftest.py"})
_DEEPEST_ARCHIVE = 4
_LARGEST_MEMBER = 256 * 2**20


class SolutionLine(NamedTuple):
    """One line of an answer: the solution's file name, the line in it (from 1) and its text."""

    file: str
    line: int
    text: str


class LeakKind(StrEnum):
    SOLUTION = "solution line"
    HIDDEN = "hidden test"
    MARKER = "solution marker"
    UNSEARCHABLE = "cannot be searched"


@dataclass(frozen=True)
class Leak:
    """Something in ``path`` that must not be published. ``line`` is None where lines mean nothing."""

    path: str
    line: int | None
    kind: LeakKind
    detail: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.kind} ({self.detail})"


def solution_lines(solutions: Path) -> list[SolutionLine]:
    """The lines inside the solution blocks of ``solutions/*.py`` that would give an answer away.

    Left out: comments, docstrings, lines under nine characters, lines that merely pass names
    along or ask for a size (``return output, weights``; ``batch = x.size(0)``), and lines that
    also stand outside the blocks, because those are published anyway. A statement over several
    lines counts as a whole, and each of its longer lines by itself.

    Raises MarkerError for a source whose markers are malformed.
    """
    sources = {path.name: _decode(path.read_bytes()) for path in sorted(solutions.glob("*.py"))}
    inside: list[SolutionLine] = []
    outside: set[str] = set()
    for name, source in sources.items():
        blocks = parse(source, name)
        for line in _code_lines(source, name):
            if any(block.begin < line.line < block.end for block in blocks):
                inside.append(line)
            else:
                outside.add(_squash(line.text))
    return [line for line in inside if _squash(line.text) not in outside]


def find_leaks(
    tree: Path | Mapping[str, bytes], solutions: Path, hidden: Path, public: Path | None = None
) -> list[Leak]:
    """Everything in ``tree`` that must not be published, in order of path.

    ``tree`` is a folder, a file or a mapping from path to content; every file is searched, also
    inside zip archives and the strings of JSON and notebooks. A solution line or a marker
    anywhere, a file of ``hidden`` by path or content, and the name of any test that is defined
    in ``hidden`` and not in ``public`` (by default the folder beside ``hidden``) are leaks. What
    cannot be searched, such as a locked archive, is one too.
    """
    needles = {_squash(line.text): line for line in solution_lines(solutions)}
    secrets = _Hidden.read(hidden, public or hidden.parent / "public")
    leaks: list[Leak] = []
    for path, content in _files(tree):
        leaks += secrets.find(path, content)
        if content is None:
            leaks.append(Leak(path, None, LeakKind.UNSEARCHABLE, "damaged, locked or too deep an archive"))
        else:
            leaks += _find_in_text(path, content, needles, secrets)
    return leaks


def _code_lines(source: str, name: str) -> Iterator[SolutionLine]:
    """Telling lines of code, without comments: whole statements, and long lines of long statements."""
    lines = source.split("\n")
    statement: list[tokenize.TokenInfo] = []
    for token in tokens_of(source):
        if token.type == tokenize.NEWLINE:
            yield from _statement_lines(statement, lines, name)
            statement = []
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            statement.append(token)


def _statement_lines(
    statement: list[tokenize.TokenInfo], lines: list[str], name: str
) -> Iterator[SolutionLine]:
    if not statement or all(token.type == tokenize.STRING for token in statement):
        return  # a docstring
    first = statement[0].start[0]
    rows: dict[int, list[tokenize.TokenInfo]] = {}
    for token in statement:
        rows.setdefault(token.start[0], []).append(token)
    texts = {number: _row_text(row, lines) for number, row in rows.items()}
    whole = " ".join(texts.values())
    if _tells(whole, SHORTEST):
        yield SolutionLine(name, first, whole)
    if len(texts) > 1:
        yield from (
            SolutionLine(name, row, text)
            for row, text in texts.items()
            if _tells(text.rstrip("([{"), SHORTEST_FRAGMENT)
        )


def _row_text(row: list[tokenize.TokenInfo], lines: list[str]) -> str:
    first, last = row[0], row[-1]
    if last.end[0] != first.start[0]:  # ends in a string of several lines
        return " ".join(token.string for token in row)
    return lines[first.start[0] - 1][first.start[1] : last.end[1]]


def _tells(text: str, shortest: int) -> bool:
    return len(_squash(text)) >= shortest and bool(_WORK.search(_PLUMBING.sub("", text)))


def _squash(text: str) -> str:
    return "".join(text.split()).translate(_SQUASHED)


_SQUASHED = str.maketrans({"'": '"', "#": None, "\\": None})


class _View:
    """A text squashed, that still knows which line each character came from."""

    def __init__(self, text: str) -> None:
        rows = [_squash(line) for line in text.split("\n")]
        self._text = "".join(rows)
        self._ends = list(accumulate(len(row) for row in rows))

    def find(self, needle: str) -> int | None:
        """The line, from 1, on which ``needle`` starts, or None."""
        position = self._text.find(needle)
        return None if position < 0 else bisect_right(self._ends, position) + 1


def _find_in_text(
    path: str, content: bytes, needles: Mapping[str, SolutionLine], secrets: _Hidden
) -> Iterator[Leak]:
    text = _decode(content)
    inner = "\n".join(_json_strings(path, text))
    outer_views, inner_views = _views(text), _views(inner)
    for needle, line in needles.items():
        detail = f"line {line.line} of {line.file}: {line.text}"
        if places := [place for view in outer_views if (place := view.find(needle))]:
            yield Leak(path, places[0], LeakKind.SOLUTION, detail)
        elif any(view.find(needle) for view in inner_views):
            yield Leak(path, None, LeakKind.SOLUTION, detail)
    both = f"{text}\n{inner}"
    if marker := _MARKER.search(both):
        number = text.count("\n", 0, marker.start()) + 1 if marker.start() < len(text) else None
        yield Leak(path, number, LeakKind.MARKER, marker.group())
    for name in sorted(set(re.findall(r"\w+", both)) & secrets.names):
        yield Leak(path, None, LeakKind.HIDDEN, f"names {name}")


def _views(text: str) -> tuple[_View, _View]:
    """The text with what its comments say, and without: an answer may stand in them or around them."""
    return _View(text), _View(re.sub(r"#.*", "", text))


@dataclass(frozen=True)
class _Hidden:
    """What gives hidden tests away: paths, file names, contents, and names of tests."""

    paths: frozenset[str]
    file_names: frozenset[str]
    digests: Mapping[str, str]
    names: frozenset[str]

    @classmethod
    def read(cls, hidden: Path, public: Path) -> _Hidden:
        ours, theirs = _folder(hidden), _folder(public)
        # The same conftest.py on both sides is no secret; the same tests would be a hidden file astray.
        shown = {digest(content) for path, content in theirs.items() if Path(path).name in _GENERIC_FILES}
        public_files = {Path(path).name for path in theirs} | _GENERIC_FILES
        return cls(
            paths=frozenset(f"{hidden.name}/{path}" for path in ours),
            file_names=frozenset(Path(path).name for path in ours) - public_files,
            # An empty __init__.py is nobody's secret.
            digests={
                digest(text): path
                for path, text in ours.items()
                if text.strip() and digest(text) not in shown
            },
            names=frozenset(_test_names(ours) - _test_names(theirs)),
        )

    def find(self, path: str, content: bytes | None) -> Iterator[Leak]:
        inner = path.rpartition("!/")[2]
        if Path(inner).name in self.file_names or any(
            f"/{inner}".endswith(f"/{secret}") for secret in self.paths
        ):
            yield Leak(path, None, LeakKind.HIDDEN, "a hidden test file by its name")
        elif content is not None and (copied := self.digests.get(digest(content))):
            yield Leak(path, None, LeakKind.HIDDEN, f"a copy of {copied}")


def _test_names(files: Mapping[str, bytes]) -> set[str]:
    sources = [_decode(content) for path, content in files.items() if path.endswith(".py")]
    return {match[1] or match[2] for source in sources for match in _TEST_NAME.finditer(source)}


def _files(tree: Path | Mapping[str, bytes]) -> Iterator[tuple[str, bytes | None]]:
    if isinstance(tree, Path):
        tree = {tree.name: tree.read_bytes()} if tree.is_file() else _folder(tree)
    for path, content in sorted(tree.items()):
        yield from _unpacked(path, content, 0)


def _folder(folder: Path) -> dict[str, bytes]:
    """All files under ``folder``, but not what Python's own caches add to it."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _unpacked(path: str, content: bytes, depth: int) -> Iterator[tuple[str, bytes | None]]:
    """The file itself and, if it is a zip archive, all that is in it; None for what cannot be read."""
    yield path, content
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return
    if depth == _DEEPEST_ARCHIVE:
        yield path, None
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                inner = f"{path}!/{member.filename}"
                if member.file_size > _LARGEST_MEMBER:
                    yield inner, None
                elif not member.is_dir():
                    yield from _unpacked(inner, archive.read(member), depth + 1)
    except (zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        yield path, None


def _json_strings(path: str, text: str) -> Iterator[str]:
    """The strings of a JSON file as they read, a list of lines (as notebooks keep them) as one text."""
    if not path.lower().endswith((".ipynb", ".json")):
        return
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            yield "".join(value)
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
