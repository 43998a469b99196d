"""Stubs from solutions: what students receive is generated, so the two can never drift apart.

``render`` decides what the exercises folder should hold; ``generate`` makes it so without
overwriting anything that somebody changed by hand.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import HeadstartError
from grader.release.markers import MarkerError, parse
from grader.release.notebooks import make_notebook

MANIFEST = ".generated.json"
DEFAULT_SENTENCE = "Write this part."

# Only such names are ever generated, and so only such names are ever removed.
_GENERATED = re.compile(r"[^/\\]+\.py|README\.md|hints/[^/\\]+\.md|notebooks/[^/\\]+\.ipynb")


class GenerationError(HeadstartError):
    """The stubs cannot be generated without harm; nothing was written."""


@dataclass(frozen=True)
class GenerationReport:
    """What generation did, or with ``check`` would do. Paths are relative to the exercises folder.

    ``refused`` lists files changed by hand (only with ``check``; otherwise they are an error),
    ``removed`` generated files whose source is gone, ``kept`` such files that were changed by hand.
    """

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def up_to_date(self) -> bool:
        """Whether the exercises folder already holds exactly what the solutions give."""
        return not (self.written or self.refused or self.removed)


def make_stub(source: str, name: str) -> str:
    """``source`` with a ``raise NotImplementedError`` that says what is missing for every solution block.

    All else stays as it is, with LF line ends and one newline at the end.

    Raises MarkerError as ``markers.parse`` does, for source with code but no block (it would be
    published whole) and when the result does not compile.
    """
    source = _clean(source)
    blocks = parse(source, name)
    if not blocks and _has_code(source):
        raise MarkerError(
            f"{name}:1: no solution block was found, so the whole file would be published. "
            "Put '### BEGIN SOLUTION' and '### END SOLUTION' around each answer."
        )
    lines = source.split("\n")
    for block in reversed(blocks):
        sentence = json.dumps(block.sentence or DEFAULT_SENTENCE, ensure_ascii=False)
        lines[block.begin - 1 : block.end] = [f"{block.indent}raise NotImplementedError({sentence})"]
    stub = "\n".join(lines)
    try:
        compile(stub, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise MarkerError(
            f"{name}: without its solution blocks this is not valid Python (line {error.lineno} of the stub: "
            f"{error.msg}), so a block cuts a statement in two. Move the markers around whole statements."
        ) from error
    return stub


def render(solutions: Path) -> dict[str, bytes]:
    """What the exercises folder should hold: relative path -> content, in sorted order.

    That is the stub of every ``*.py``, the same as a notebook (closed by the cell that
    ``notebooks/*.py`` holds for it, if any), README.md and the hints.

    Raises MarkerError for a source that cannot be cut, GenerationError when there is none.
    """
    sources = sorted(solutions.glob("*.py"))
    if not sources:
        raise GenerationError(
            f"{solutions} holds no Python file, so there is nothing to make stubs of. "
            "Name the folder of the solutions."
        )
    files = {path.name: make_stub(_text(path), f"{solutions.name}/{path.name}") for path in sources}
    files |= _notebooks(files, solutions)
    copies = [
        path for path in [solutions / "README.md", *sorted(solutions.glob("hints/*.md"))] if path.is_file()
    ]
    files |= {path.relative_to(solutions).as_posix(): _clean(_text(path)) for path in copies}
    return {name: text.encode() for name, text in sorted(files.items())}


def _notebooks(stubs: Mapping[str, str], solutions: Path) -> dict[str, str]:
    """The notebook form of every stub that has code."""
    closing = {path.name: path for path in sorted(solutions.glob("notebooks/*.py"))}
    if strays := sorted(closing.keys() - stubs.keys()):
        raise GenerationError(
            f"{closing[strays[0]]} closes the notebook of an exercise, but {solutions} has no {strays[0]}. "
            "Name it as the exercise's file."
        )
    made = {}
    for name, stub in stubs.items():
        try:
            last = _clean(_text(closing[name])) if name in closing else ""
            if _has_code(stub):
                made[f"notebooks/{Path(name).stem}.ipynb"] = make_notebook(stub, name, last)
        except SyntaxError as error:
            raise GenerationError(
                f"{closing[name]} is not valid Python ({error}), so no notebook can end in it. Mend it."
            ) from error
    return made


def generate(
    solutions: Path, exercises: Path, *, force: bool = False, check: bool = False
) -> GenerationReport:
    """Make ``exercises`` hold the stubs of ``solutions``, their notebooks, README.md and hints.

    A file is overwritten only if its content is the old stub (known from the manifest
    ``.generated.json``) or ``force`` is given; all is decided before anything is written.
    ``check`` writes nothing and reports what would happen.

    Raises MarkerError and GenerationError as ``render`` does, and GenerationError naming the
    files that were changed by hand.
    """
    new = render(solutions)
    known = _read_manifest(exercises)
    report = _decide(new, known, exercises, force=force)
    if check:
        return report
    if report.refused:
        raise GenerationError(
            f"{', '.join(report.refused)} in {exercises} changed since generation wrote it, and overwriting "
            "would lose that work. Nothing was written: move the changes into the solutions, or use "
            "--force to discard them."
        )
    for name in report.written:
        write_atomically(exercises / name, new[name])
    for name in report.removed:
        (exercises / name).unlink()
    hashes = {name: digest(content) for name, content in new.items()}
    hashes |= {name: known[name] for name in report.kept}
    manifest = _encode(hashes)
    if _content(exercises / MANIFEST) != manifest:
        write_atomically(exercises / MANIFEST, manifest)
    return report


def digest(content: bytes) -> str:
    """The sha256 of ``content`` in hexadecimal, as manifests record it."""
    return hashlib.sha256(content).hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` so that a reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)  # mkstemp's 0600 would keep others from reading a shared checkout
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _decide(
    new: Mapping[str, bytes], known: Mapping[str, str], exercises: Path, *, force: bool
) -> GenerationReport:
    written: list[str] = []
    unchanged: list[str] = []
    refused: list[str] = []
    removed: list[str] = []
    kept: list[str] = []
    for name, content in new.items():
        path = exercises / name
        current = _content(path)
        if current == content:
            unchanged.append(name)
        elif current is None:
            # A folder or a device in the file's place is nothing that --force may replace.
            (refused if path.exists() else written).append(name)
        elif force or digest(current) == known.get(name):
            written.append(name)
        else:
            refused.append(name)
    for name in sorted(known.keys() - new.keys()):
        current = _content(exercises / name)
        if current is not None:
            (removed if digest(current) == known[name] else kept).append(name)
    return GenerationReport(tuple(written), tuple(unchanged), tuple(refused), tuple(removed), tuple(kept))


def _read_manifest(exercises: Path) -> dict[str, str]:
    """What generation last wrote; nothing when that is unknown, which only makes it more careful."""
    try:
        table = json.loads((exercises / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    if not isinstance(table, dict):
        return {}
    return {
        name: value for name, value in table.items() if _GENERATED.fullmatch(name) and isinstance(value, str)
    }


def _encode(hashes: Mapping[str, str]) -> bytes:
    return (json.dumps(hashes, indent=2, sort_keys=True) + "\n").encode()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GenerationError(
            f"{path} is not UTF-8 text ({error}), so it cannot be copied. Save it as UTF-8."
        ) from error


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    return text + "\n" if text else ""


def _has_code(source: str) -> bool:
    body = ast.parse(source).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)
