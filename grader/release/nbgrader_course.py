"""A course folder for nbgrader: its configuration, and the source of each assignment.

All that lies in ``source/`` is given to students by ``nbgrader generate_assignment``: the notebooks
without their solutions, and as they are the guide and the student's part of the project, packed into one
file, so that the public tests run in their own kernel. Hidden tests stay where they are, in the project.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from grader.assignment import Assignment, Exercise, load_assignment
from grader.errors import HeadstartError
from grader.exports.nbgrader.cells import assignment_names
from grader.release.bundle import BundleError, student_files, zipped
from grader.release.leaks import find_leaks
from grader.release.nbgrader_notebooks import Points, source_notebook
from grader.release.stubs import digest, write_atomically
from grader.scoring import ASPECTS, SuiteTest

CONFIG = "nbgrader_config.py"
RECORD = "headstart/released.json"
_STOCK = "headstart/stock.py"
_LOADER = Path(__file__).with_name("nbgrader_loader.py")

_CONFIG_TEXT = """\
# Made by Headstart. `nbgrader autograde` and formgrader then grade with Headstart, behind its wall.
# Add settings of your own at the end; see docs/nbgrader.md in the project.
import sys

HEADSTART = {root!r}  # where Headstart is
if HEADSTART not in sys.path:
    sys.path.append(HEADSTART)
try:
    from grader.exports.nbgrader.config import configure
except ImportError as error:
    raise SystemExit(
        f"Headstart cannot be used from {{HEADSTART}} ({{error}}), so nothing was done. Mend the line "
        f"HEADSTART in {{__file__}}, and start nbgrader from the environment that Headstart is installed in."
    ) from error

c = get_config()
c.CourseDirectory.course_id = {course_id!r}
# isolated=False is nbgrader's own way: hidden tests then run in each student's kernel, and are at its mercy
configure(c, __file__, isolated=True)
"""

_STOCK_TEXT = '''\
"""Scores a grade cell in a student's own kernel: nbgrader's way, not used while grading is isolated."""

import sys

HEADSTART = {root!r}  # where Headstart is


def score(exercise, aspect, names):
    """The points of one aspect of an exercise, from 0 to what it is worth."""
    if HEADSTART not in sys.path[:1]:
        sys.path.insert(0, HEADSTART)
    from grader.exports.nbgrader.stock import score

    return score(exercise, aspect, names)
'''


class CourseError(HeadstartError):
    """The course folder cannot be made as it should; the message says why and what to try."""


@dataclass(frozen=True)
class Course:
    """What was written: the folder, its nbgrader assignments, and files that were left as they are."""

    folder: Path
    assignments: tuple[str, ...]
    files: tuple[str, ...]
    kept: tuple[str, ...] = ()


def write_course(root: Path, out: Path, tests: Iterable[SuiteTest], *, force: bool = False) -> Course:
    """Make or renew the course folder ``out`` for the assignment at ``root``; ``tests`` is its suite.

    Of a folder that is there, only files that an earlier release wrote are replaced: those changed since
    only with ``force``, and a configuration that is somebody's own never.
    Raises CourseError or BundleError when something is in the way, or students would get an answer.
    """
    assignment = load_assignment(root)
    files = course_files(root, assignment, list(tests))
    _check_leaks(root, files)
    record = _read_record(out)
    kept = _in_the_way(out, files, record, force=force)
    for name, content in files.items():
        if name not in kept:
            write_atomically(out / name, content)
    for name in sorted(record.keys() - files.keys()):
        if _is_as_recorded(out / name, record[name]):
            (out / name).unlink()
    hashes = {name: digest(content) for name, content in files.items() if name not in kept}
    write_atomically(out / RECORD, (json.dumps(hashes, indent=2) + "\n").encode())
    return Course(out, tuple(assignment_names(assignment)), tuple(files), tuple(kept))


def course_files(root: Path, assignment: Assignment, tests: list[SuiteTest]) -> dict[str, bytes]:
    """What the course folder holds, by path. Raises BundleError or CourseError."""
    files = {
        CONFIG: _CONFIG_TEXT.format(root=str(root.resolve()), course_id=assignment.name).encode(),
        _STOCK: _STOCK_TEXT.format(root=str(root.resolve())).encode(),
    }
    beside = _beside(root, assignment)
    for name, exercises in assignment_names(assignment).items():
        made = {**beside, **_notebooks(root, exercises, _points(tests))}
        files |= {f"source/{name}/{path}": content for path, content in made.items()}
    return dict(sorted(files.items()))


def _beside(root: Path, assignment: Assignment) -> dict[str, bytes]:
    """What lies beside the notebooks: the guide, and in one file the student's part of the project."""
    files = student_files(root, assignment)
    packed = {name: content for name, content in files.items() if not name.startswith("exercises/")}
    return {
        "requirements.txt": files["requirements.txt"],
        "README.md": files.get("exercises/README.md", b""),
        "headstart.py": _LOADER.read_bytes(),
        "headstart.bundle": zipped("", packed),
    }


def _notebooks(root: Path, exercises: Iterable[Exercise], points: Mapping[str, Points]) -> dict[str, bytes]:
    by_file: dict[str, list[Exercise]] = defaultdict(list)
    for exercise in exercises:
        by_file[exercise.file].append(exercise)
    made = {}
    for file, own in by_file.items():
        closing = root / "solutions" / "notebooks" / file
        last = closing.read_text(encoding="utf-8") if closing.is_file() else ""
        try:
            text = source_notebook((root / "solutions" / file).read_text(encoding="utf-8"), last, own, points)
        except SyntaxError as error:
            raise CourseError(
                f"solutions/{file}, or what closes its notebook, is not valid Python: {error}. Mend it."
            ) from error
        made[file.removesuffix(".py") + ".ipynb"] = text.encode()
    return made


def _points(tests: Iterable[SuiteTest]) -> dict[str, Points]:
    """Exercise -> aspect -> points, aspects in their usual order."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    exact: dict[tuple[str, str], list[Fraction]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: [*ASPECTS, test.aspect].index(test.aspect)):
        exact[test.exercise, test.aspect].append(test.points)
    for (exercise, aspect), points in exact.items():
        found[exercise][aspect] = float(sum(points))
    return dict(found)


def _check_leaks(root: Path, files: Mapping[str, bytes]) -> None:
    """Refuse what would show an answer or a hidden test once nbgrader has made the students' version."""
    released = {
        name.removeprefix("source/"): as_released(content) if name.endswith(".ipynb") else content
        for name, content in files.items()
        if name.startswith("source/")
    }
    if leaks := find_leaks(released, root / "solutions", root / "tests" / "hidden"):
        raise CourseError(
            "Nothing was written: students would get what they must not see.\n"
            + "".join(f"  {leak}\n" for leak in leaks)
            + "Take that out of what is shipped, or reword it, then try again."
        )


def as_released(notebook: bytes) -> bytes:
    """What ``nbgrader generate_assignment`` makes of an instructor's notebook, checksums aside."""
    import nbformat
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions  # type: ignore[import-untyped]

    made = nbformat.reads(notebook.decode(), as_version=4)  # type: ignore[no-untyped-call]
    for preprocessor in (ClearSolutions(), ClearHiddenTests()):
        made, _ = preprocessor.preprocess(made, {})
    text: str = nbformat.writes(made)  # type: ignore[no-untyped-call]
    return text.encode()


def _in_the_way(
    out: Path, files: Mapping[str, bytes], record: Mapping[str, str], *, force: bool
) -> list[str]:
    """The files that stay as they are. Raises CourseError where that would be a half-made course."""
    foreign = [
        name
        for name, content in files.items()
        if (out / name).exists()
        and (out / name).read_bytes() != content
        and not _is_as_recorded(out / name, record.get(name, ""))
    ]
    kept = [CONFIG] if CONFIG in foreign else []
    changed = [name for name in foreign if name not in kept]
    if changed and not force:
        raise CourseError(
            f"Nothing was written: in {out} these were changed since they were released, or are not ours: "
            f"{', '.join(changed[:8])}{' …' if len(changed) > 8 else ''}. Move your changes into "
            "solutions/, or use --force to discard them."
        )
    return kept


def _is_as_recorded(path: Path, hashed: str) -> bool:
    return path.is_file() and digest(path.read_bytes()) == hashed


def _read_record(out: Path) -> dict[str, str]:
    try:
        found = json.loads((out / RECORD).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


__all__ = ["BundleError", "Course", "CourseError", "as_released", "course_files", "write_course"]
