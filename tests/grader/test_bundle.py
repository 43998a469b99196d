"""The bundle: complete, the same every time, replaced only where it is ours, and free of answers."""

from __future__ import annotations

import json
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.release.bundle import RELEASE_MARKER, STUDENT_ROOMS, BundleError, build_bundle
from grader.release.stubs import digest, generate

SOLUTION = '''\
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION: Return twice x.
    return x.mul(2.0)
    ### END SOLUTION
'''
ANSWER = "return x.mul(2.0)"
ASSIGNMENT = """\
name = "tiny"
title = "A tiny one"

[exercises.double]
title = "Doubling"
file = "double.py"
defines = ["double"]
points = 100
public_points = 10
"""
FILES = {
    "assignment.toml": ASSIGNMENT,
    "requirements-student.txt": "pytest\n",
    "requirements.txt": "nbgrader\n",
    "conftest.py": "from grader import results\n",
    "LICENSE": "Free.\n",
    "solutions/double.py": SOLUTION,
    "solutions/README.md": "# Doubling\n",
    "solutions/hints/double.md": "## Hint 1\n",
    "tests/__init__.py": "",
    "tests/public/test_double.py": "def test_two():\n    pass\n",
    "tests/hidden/test_deep.py": "def test_very_deep():\n    assert 1\n",
    "tests/support/oracle.py": "import math\n",
    "tests/grader/test_x.py": "",
    "grader/release/leaks.py": "MARKER = '### BEGIN SOLUTION'\n",
    "grader/exports/csv.py": "",
    "grader/examination/deep/part.py": "from ..verdicts import x\n",
    "grader/candidate/local.py": "x = 1\n",
    "grader/examination/verdicts.py": "x = 1\n",
    "grader/candidate/__pycache__/local.cpython-311.pyc": "cache",
    **{f"{room}/__init__.py": "" for room in STUDENT_ROOMS},
    "grader/results.py": "",
    "grader/cli/student.py": "",
    "grader/cli/instructor/__init__.py": "x = 1\n",
}
SHIPPED = {
    *(
        "README.md",
        "requirements.txt",
        "pyproject.toml",
        "conftest.py",
        "assignment.toml",
        "LICENSE",
        RELEASE_MARKER,
    ),
    *("exercises/README.md", "exercises/double.py", "exercises/hints/double.md"),
    "exercises/notebooks/double.ipynb",
    *("tests/__init__.py", "tests/public/test_double.py", "tests/support/oracle.py"),
    *(
        "grader/results.py",
        "grader/candidate/local.py",
        "grader/cli/student.py",
        "grader/examination/verdicts.py",
    ),
    *(f"{room}/__init__.py" for room in STUDENT_ROOMS),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in FILES.items():
        put(root / name, text)
    generate(root / "solutions", root / "exercises")
    return root


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_bundle_holds_what_a_student_needs_and_nothing_else(root: Path, out: Path) -> None:
    bundle = build_bundle(root, out)
    assert (bundle.folder, bundle.archive) == (out / "tiny", out / "tiny.zip")
    assert set(bundle.files) == SHIPPED == set(snapshot(bundle.folder))
    assert set(snapshot(out)) == {"tiny.zip", *(f"tiny/{name}" for name in SHIPPED)}
    assert (bundle.folder / "requirements.txt").read_text() == "pytest\n"
    assert "NotImplementedError" in (bundle.folder / "exercises/double.py").read_text()


def test_its_settings_point_pytest_at_the_public_tests(root: Path, out: Path) -> None:
    table = tomllib.loads((build_bundle(root, out).folder / "pyproject.toml").read_text())
    assert table["tool"]["pytest"]["ini_options"] == {"testpaths": ["tests/public"], "timeout": 60}


def test_the_archive_holds_the_same_as_the_folder(root: Path, out: Path) -> None:
    bundle = build_bundle(root, out)
    with zipfile.ZipFile(bundle.archive) as archive:
        entries = archive.infolist()
        assert {e.filename: archive.read(e) for e in entries} == {
            f"tiny/{name}": content for name, content in snapshot(bundle.folder).items()
        }
    assert [e.filename for e in entries] == sorted(e.filename for e in entries)
    assert {(e.date_time, e.external_attr >> 16) for e in entries} == {((1980, 1, 1, 0, 0, 0), 0o100644)}


def test_the_same_files_give_the_same_bytes(root: Path, out: Path) -> None:
    first, second = build_bundle(root, out / "a"), build_bundle(root, out / "b")
    assert first.archive.read_bytes() == second.archive.read_bytes()
    assert snapshot(first.folder) == snapshot(second.folder)


def test_the_release_marker_lists_every_file_with_its_hash(root: Path, out: Path) -> None:
    files = snapshot(build_bundle(root, out).folder)
    record = json.loads(files.pop(RELEASE_MARKER))
    assert record["files"] == {name: digest(content) for name, content in files.items()}


def test_a_readme_is_made_unless_one_is_written(root: Path, out: Path) -> None:
    made = (build_bundle(root, out / "a").folder / "README.md").read_text()
    assert all(
        text in made for text in ("pip install -r requirements.txt", "pytest", "exercises/double.py", "100")
    )
    put(root / "docs/student-readme.md", "# Mine\n")
    assert (build_bundle(root, out / "b").folder / "README.md").read_text() == "# Mine\n"


@pytest.mark.parametrize(
    "missing",
    ["requirements-student.txt", "conftest.py", "LICENSE", "assignment.toml", "tests/public/test_double.py",
     "grader/reports/__init__.py", "solutions/double.py"],
)  # fmt: skip
def test_a_missing_part_is_named_and_nothing_is_made(root: Path, out: Path, missing: str) -> None:
    (root / missing).unlink()
    with pytest.raises(BundleError, match=Path(missing).parts[-2] if "__init__" in missing else None):
        build_bundle(root, out)
    assert not out.exists()


def test_optional_parts_may_be_missing(root: Path, out: Path) -> None:
    (root / "tests/__init__.py").unlink()
    assert set(build_bundle(root, out).files) == SHIPPED - {"tests/__init__.py"}


@pytest.mark.parametrize("edited", ["solutions/double.py", "exercises/double.py"])
def test_stubs_that_are_out_of_date_are_refused(root: Path, out: Path, edited: str) -> None:
    (root / edited).write_text((root / edited).read_text().replace("Twice", "Double"))
    with pytest.raises(BundleError, match=r"not what the solutions give \(double\.py"):
        build_bundle(root, out)


def test_what_lies_in_exercises_without_being_generated_is_not_shipped(root: Path, out: Path) -> None:
    put(root / "exercises/attempt.py", f"def double(x):\n    {ANSWER}\n")
    assert set(build_bundle(root, out).files) == SHIPPED


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("docs/student-readme.md", f"Write `{ANSWER}`.", "line 4 of double.py"),
        ("solutions/README.md", ANSWER, "line 4 of double.py"),
        ("tests/support/notes.txt", "### BEGIN SOLUTION", "solution marker"),
        ("tests/support/more.py", "def test_very_deep():\n    pass\n", "names test_very_deep"),
        ("tests/support/test_deep.py", "", "hidden test file"),
        ("tests/public/test_deep.py", FILES["tests/hidden/test_deep.py"], "copy of test_deep.py"),
        ("grader/examination/copy.txt", FILES["tests/hidden/test_deep.py"], "copy of test_deep.py"),
    ],
)
def test_a_leak_is_refused_and_leaves_nothing(root: Path, out: Path, name: str, text: str, why: str) -> None:
    put(root / name, text)
    generate(root / "solutions", root / "exercises")
    with pytest.raises(BundleError, match=why):
        build_bundle(root, out)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["tests/public/hidden/a.py", "tests/support/solutions.py", "grader/examination/hidden.py"]
)
def test_what_is_named_as_secret_is_refused(root: Path, out: Path, name: str) -> None:
    put(root / name, "")
    with pytest.raises(BundleError, match="its name says it must not be"):
        build_bundle(root, out)


def test_a_link_is_refused(root: Path, out: Path) -> None:
    (root / "tests/support/more.py").symlink_to(root / "LICENSE")
    with pytest.raises(BundleError, match="is a link"):
        build_bundle(root, out)


@pytest.mark.parametrize(
    "line",
    ["import grader.exports", "from grader.exports.csv import x", "from grader import submissions",
     "from .exports import csv"],
)  # fmt: skip
def test_a_module_that_needs_what_stays_behind_is_refused(root: Path, out: Path, line: str) -> None:
    put(root / "grader/more.py", line)
    with pytest.raises(BundleError, match=r"grader/more\.py imports grader\.(exports|submissions)"):
        build_bundle(root, out)


def test_a_module_may_import_what_stays_behind_when_it_needs_it(root: Path, out: Path) -> None:
    put(root / "grader/more.py", "def grade():\n    from grader.exports import csv\n    return csv\n")
    assert set(build_bundle(root, out).files) == SHIPPED | {"grader/more.py"}


def test_an_empty_target_folder_is_used(root: Path, out: Path) -> None:
    (out / "tiny").mkdir(parents=True)
    assert build_bundle(root, out).folder.is_dir()


def fill_folder(out: Path) -> None:
    put(out / "tiny/notes.txt", "mine")


def fill_archive(out: Path) -> None:
    put(out / "tiny.zip", "mine")


def forge_marker(out: Path) -> None:
    put(out / "tiny" / RELEASE_MARKER, '{"files": []}')
    put(out / "tiny/notes.txt", "mine")


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("fill", [fill_folder, fill_archive, forge_marker])
def test_what_no_release_wrote_is_never_replaced(
    root: Path, out: Path, fill: Callable[[Path], None], force: bool
) -> None:
    fill(out)
    before = snapshot(out)
    with pytest.raises(BundleError, match="choose another --out" if force else "Choose another --out"):
        build_bundle(root, out, force=force)
    assert snapshot(out) == before


def test_an_earlier_release_is_replaced_only_with_force(root: Path, out: Path) -> None:
    build_bundle(root, out)
    put(out / "tiny/tests/__pycache__/x.pyc", "cache")
    put(root / "LICENSE", "Freer.\n")
    with pytest.raises(BundleError, match="exists already"):
        build_bundle(root, out)
    bundle = build_bundle(root, out, force=True)
    assert set(snapshot(bundle.folder)) == SHIPPED
    assert (bundle.folder / "LICENSE").read_text() == "Freer.\n"


@pytest.mark.parametrize("name", ["LICENSE", "notes.txt"])
def test_a_release_somebody_worked_in_is_kept_even_with_force(root: Path, out: Path, name: str) -> None:
    build_bundle(root, out)
    put(out / "tiny" / name, "mine")
    with pytest.raises(BundleError, match=name):
        build_bundle(root, out, force=True)
    assert (out / "tiny" / name).read_text() == "mine"


def test_a_leak_leaves_the_earlier_release_alone(root: Path, out: Path) -> None:
    build_bundle(root, out)
    before = snapshot(out)
    put(root / "docs/student-readme.md", ANSWER)
    with pytest.raises(BundleError, match="give away"):
        build_bundle(root, out, force=True)
    assert snapshot(out) == before
