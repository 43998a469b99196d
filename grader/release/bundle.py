"""The bundle a student starts from: a folder, and the same as a zip, that tells no answer."""

from __future__ import annotations

import ast
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.assignment import Assignment, AssignmentError, load_assignment
from grader.errors import HeadstartError
from grader.release.leaks import find_leaks
from grader.release.markers import MarkerError
from grader.release.stubs import GenerationError, digest, generate, render, write_atomically

RELEASE_MARKER = ".headstart-release.json"

# The student's part of grader/: the files that stand in these rooms, not those of rooms inside of them.
STUDENT_ROOMS = ("grader", "grader/candidate", "grader/cli", "grader/examination", "grader/reports")

# (where it stands under the root, what it is called in the bundle, whether it must be there)
_OTHER_FILES = (
    ("assignment.toml", "assignment.toml", True),
    ("requirements-student.txt", "requirements.txt", True),
    ("conftest.py", "conftest.py", True),
    ("LICENSE", "LICENSE", True),
    ("tests/__init__.py", "tests/__init__.py", False),
    ("tests/conftest.py", "tests/conftest.py", False),
)
_NEVER_SHIPPED = frozenset({"hidden", "solutions", "instructor", "sandbox", "release"})
_CACHES = frozenset({"__pycache__", ".pytest_cache"})

_PYPROJECT = """\
[tool.pytest.ini_options]
testpaths = ["tests/public"]
timeout = 60
"""

_README = """\
# {title}

Each file in `exercises/` says what is missing and what to write there. Read
`exercises/README.md` first.

| exercise | file | points |
|---|---|---|
{rows}

Set up once:

    python -m venv .venv
    source .venv/bin/activate        (on Windows: .venv\\Scripts\\activate)
    pip install -r requirements.txt

Then, as often as you like:

    pytest                           run the tests and see your points
    python -m grader check           the same, with the first failure explained
    python -m grader hint EXERCISE   one more hint each time you ask

The tests here are a part of those your work is graded with.
"""


class BundleError(HeadstartError):
    """The bundle cannot be made, or must not be published; the message says why and what to try."""


@dataclass(frozen=True)
class Bundle:
    """A finished release: its folder, its zip, and the files in both, relative and in order."""

    folder: Path
    archive: Path
    files: tuple[str, ...]


def build_bundle(root: Path, out: Path, *, force: bool = False) -> Bundle:
    """Make ``out/<assignment>/`` and ``out/<assignment>.zip`` from the assignment at ``root``.

    The zip is the same, byte for byte, for the same files. An earlier release is replaced only
    with ``force``, and only if it is one and holds nothing else than what was released (caches of
    Python and pytest aside). Everything is made beside its place and moved there at the end.

    Raises BundleError when a file is missing, the stubs are out of date, the target is not ours
    to replace, or the result would leak an answer or a hidden test; nothing half-made stays.
    """
    try:
        assignment = load_assignment(root)
        contents = student_files(root, assignment)
    except (AssignmentError, MarkerError, GenerationError) as error:
        raise BundleError(str(error)) from error
    record = {
        "schema": "headstart/release/v1",
        "files": {name: digest(data) for name, data in contents.items()},
    }
    contents[RELEASE_MARKER] = (json.dumps(record, indent=2) + "\n").encode()
    contents = dict(sorted(contents.items()))
    bundle = Bundle(out / assignment.name, out / f"{assignment.name}.zip", tuple(contents))
    _check_target(bundle, force=force)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".release-") as workshop:
        made = Bundle(Path(workshop) / "folder", Path(workshop) / "release.zip", bundle.files)
        for name, data in contents.items():
            write_atomically(made.folder / name, data)
        made.archive.write_bytes(zipped(assignment.name, contents))
        _check_leaks(made, root)
        _move_into_place(made, bundle)
    return bundle


def student_files(root: Path, assignment: Assignment) -> dict[str, bytes]:
    """What a student starts from, by path, in order. Raises BundleError as ``build_bundle`` does."""
    files = dict(sorted(_collect(root, assignment).items()))
    _check_names(files)
    _check_imports(files)
    return files


def _collect(root: Path, assignment: Assignment) -> dict[str, bytes]:
    files = {"README.md": _readme(root, assignment), "pyproject.toml": _PYPROJECT.encode()}
    for source, name, required in _OTHER_FILES:
        if (root / source).is_file():
            files[name] = _read(root / source)
        elif required:
            raise BundleError(
                f"{root / source} is missing, and a student cannot start without it. Add it and try again."
            )
    for folder in assignment.test_folders:
        files |= _matching(root, folder, "**")
    for room in STUDENT_ROOMS:
        files |= _matching(root, room, "*")
    return files | _exercises(root)


def _readme(root: Path, assignment: Assignment) -> bytes:
    written = root / "docs" / "student-readme.md"
    if written.is_file():
        return _read(written)
    exercises = assignment.exercises.values()
    rows = "\n".join(
        f"| {one.title} (`{one.name}`) | `exercises/{one.file}` | {one.points} |" for one in exercises
    )
    return _README.format(title=assignment.title, rows=rows).encode()


def _exercises(root: Path) -> dict[str, bytes]:
    """The stubs, from the solutions themselves: what else lies in exercises/ is not shipped."""
    report = generate(root / "solutions", root / "exercises", check=True)
    if not report.up_to_date:
        names = ", ".join(report.written + report.refused + report.removed)
        raise BundleError(
            f"exercises/ is not what the solutions give ({names}), so it is unclear what students "
            "should get. Generate the stubs again, after moving changes made by hand into solutions/."
        )
    return {f"exercises/{name}": content for name, content in render(root / "solutions").items()}


def _matching(root: Path, folder: str, pattern: str) -> dict[str, bytes]:
    # "**" alone means folders only to glob
    paths = (root / folder).glob(f"{pattern}/*" if pattern.endswith("**") else pattern)
    found = {path.relative_to(root).as_posix(): path for path in sorted(paths) if not path.is_dir()}
    kept = {name: _read(path) for name, path in found.items() if not _passing(name)}
    if not kept:
        raise BundleError(
            f"No file matches {folder}/{pattern} in {root}, and a student cannot start without it. "
            "Add it, or name what is shipped anew in grader/release/bundle.py."
        )
    return kept


def _passing(name: str) -> bool:
    """Whether a file is a by-product, such as a cache, rather than something written to be kept."""
    parts = PurePosixPath(name).parts
    return bool(_CACHES & set(parts)) or parts[-1].startswith(".") or parts[-1].endswith((".pyc", "~"))


def _read(path: Path) -> bytes:
    if path.is_symlink():
        raise BundleError(
            f"{path} is a link, so what is published could change unseen. Put the file itself there."
        )
    return path.read_bytes()


def _check_names(files: Iterable[str]) -> None:
    for name in files:
        if any(part.split(".")[0] in _NEVER_SHIPPED for part in PurePosixPath(name).parts):
            raise BundleError(
                f"{name} would be published, though its name says it must not be. Move it out of "
                "what is shipped, or rename it if it is harmless."
            )


def _check_imports(files: Mapping[str, bytes]) -> None:
    """Refuse a bundle whose modules import, as they are loaded, a part of grader that stays behind."""
    for name, content in files.items():
        if not name.endswith(".py") or name.startswith("exercises/"):
            continue
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            raise BundleError(
                f"{name} is not valid Python ({error}), so the bundle cannot work. Mend it first."
            ) from error
        for module in _imported_at_once(tree, PurePosixPath(name)):
            path = module.replace(".", "/")
            if module.split(".")[0] == "grader" and not {f"{path}.py", f"{path}/__init__.py"} & files.keys():
                raise BundleError(
                    f"{name} imports {module}, which is not shipped, so the bundle would fail at once. "
                    "Import it where it is used, or move it into a room that ships."
                )


def _imported_at_once(tree: ast.Module, path: PurePosixPath) -> Iterator[str]:
    """Modules named by import statements that run when the module is loaded, unconditionally."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = path.parent.parts[: len(path.parent.parts) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            if module == "grader":
                yield from (f"grader.{alias.name}" for alias in node.names if not alias.name.startswith("__"))


def zipped(top: str, contents: Mapping[str, bytes]) -> bytes:
    """An archive with ``contents`` in the folder ``top``: the same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(contents.items()):
            entry = zipfile.ZipInfo(f"{top}/{name}".lstrip("/"), date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, wherever this runs, so that the mode bits below are read
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=9)
    return buffer.getvalue()


def _check_leaks(made: Bundle, root: Path) -> None:
    leaks = [
        leak
        for tree in (made.folder, made.archive)
        for leak in find_leaks(tree, root / "solutions", root / "tests/hidden")
    ]
    if leaks:
        listing = (
            "".join(f"\n  {leak}" for leak in leaks if not leak.path.startswith(made.archive.name))
            or f"\n  {leaks[0]}"
        )
        raise BundleError(
            f"The release would give away what it must not:{listing}\nNothing was published. "
            "Take these out of the shipped files, or out of the solution blocks if they are no secret."
        )


def _check_target(bundle: Bundle, *, force: bool) -> None:
    folder, archive = bundle.folder, bundle.archive
    empty = folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())
    filled = [path for path in (folder, archive) if os.path.lexists(path) and not (empty and path == folder)]
    if not filled:
        return
    if not force:
        names = " and ".join(str(path) for path in filled)
        raise BundleError(
            f"{names} exists already and may be in use. "
            "Choose another --out, or use --force to replace a release."
        )
    if folder in filled and (strangers := _strangers(folder)):
        raise BundleError(
            f"{folder} holds what no release wrote ({', '.join(strangers[:5])}), and replacing it would lose "
            "that. Move it away, or choose another --out."
        )
    if archive in filled and not _is_our_archive(archive, folder.name):
        raise BundleError(
            f"{archive} is not a release, and replacing it would lose it. "
            "Move it away, or choose another --out."
        )


def _strangers(folder: Path) -> list[str]:
    """What in ``folder`` an earlier release did not put there, or put there otherwise."""
    if folder.is_symlink() or not folder.is_dir():
        return [folder.name]
    try:
        record = json.loads((folder / RELEASE_MARKER).read_bytes())
        known = dict(record["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return [f"no {RELEASE_MARKER} that can be read"]
    strangers = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name == RELEASE_MARKER or _CACHES & set(path.relative_to(folder).parts):
            continue
        if path.is_symlink() or not (
            path.is_dir() or (path.is_file() and digest(path.read_bytes()) == known.get(name))
        ):
            strangers.append(name)
    return strangers


def _is_our_archive(path: Path, top: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{top}/{RELEASE_MARKER}" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _move_into_place(made: Bundle, bundle: Bundle) -> None:
    if bundle.folder.exists():
        os.replace(bundle.folder, made.folder.parent / "former")  # goes away with the workshop
    os.replace(made.folder, bundle.folder)
    os.replace(made.archive, bundle.archive)
