"""The released bundle in a student's hands: unpack, ``pytest``, write, ``pytest``."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from tests.grader.project import FILES, ROOT, Ran, copied, replace, run

ASSIGNMENT = load_assignment(ROOT)
CORE = [*(exercise.title for exercise in ASSIGNMENT.core), "Total"]
BONUS = [*(exercise.title for exercise in ASSIGNMENT.bonus), "Bonus, on top"]
TABLE = re.compile(rf"^({'|'.join(map(re.escape, CORE + BONUS))}) +(\d.*)$", re.M)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip that ``release`` makes of the project with all its tests."""
    project = copied(tmp_path_factory.mktemp("release") / "root", suite=None)
    ran = project.run("release", "--format", "bundle", "--out", project.root / "out")
    assert ran.status == 0, ran.both
    return project.root / "out/attention.zip"


def unpacked(released: Path, to: Path) -> Path:
    with zipfile.ZipFile(released) as archive:
        archive.extractall(to)
    return to / "attention"


def pytested(copy: Path, *options: str, stdin: str = "") -> Ran:
    """Plain ``pytest`` in a student's copy."""
    return run("-m", "pytest", "-p", "no:cacheprovider", "--seed", "9", *options, cwd=copy, stdin=stdin)


def collected(ran: Ran) -> int:
    """How many tests there are."""
    return int(re.findall(r"^collected (\d+) items", ran.out, re.M)[0])


def table(ran: Ran) -> dict[str, str]:
    """The points table: title -> "points / most"."""
    return {title: " ".join(figures.split()) for title, figures in TABLE.findall(ran.out)}


def solve(copy: Path, *files: str) -> None:
    """Write what a student might: the solutions, without their markers."""
    for name in files:
        lines = (ROOT / "solutions" / name).read_text().splitlines(keepends=True)
        text = "".join(line for line in lines if not line.strip().startswith("###"))
        (copy / "exercises" / name).write_text(text)


# --- what is in it --------------------------------------------------------------------------------


def test_the_bundle_holds_no_answer_and_no_hidden_test(released: Path, tmp_path: Path) -> None:
    copy = unpacked(released, tmp_path)
    names = [path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()]
    assert not [name for name in names if re.search(r"hidden|solutions|authoring|engines|instructor", name)]
    hidden = "".join(path.read_text() for path in (ROOT / "tests/hidden").glob("*.py"))
    tests = set(re.findall(r"def (test_\w+)", hidden))
    text = "".join((copy / name).read_text() for name in names)
    assert len(tests) > 20
    assert not [test for test in tests if test in text]
    assert "END SOLUTION" not in text
    assert "softmax(dim=-1)" not in text


def test_the_readme_fits_the_bundle(released: Path, tmp_path: Path) -> None:
    copy = unpacked(released, tmp_path)
    readme = (copy / "README.md").read_text()
    assert readme == (ROOT / "docs/student-readme.md").read_text()
    named = re.findall(r"`((?:exercises/)?[\w/]+\.(?:py|md|txt))`", readme)
    assert set(named) >= {"exercises/README.md", *(f"exercises/{name}" for name in FILES)}
    assert not [name for name in named if not (copy / name).exists()]


# --- the loop -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first_run(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return pytested(unpacked(released, tmp_path_factory.mktemp("first")))


def test_at_first_every_test_fails_and_the_table_shows_zero(first_run: Ran) -> None:
    assert first_run.status == 1
    assert re.search(rf"\b{collected(first_run)} failed in ", first_run.out)
    points = table(first_run)
    assert [points[title] for title in CORE] == ["0 / 8", "0 / 8", "0 / 4", "0 / 12", "0 / 32"]
    assert all(points[title].startswith("0 / ") for title in BONUS)


def test_the_run_ends_with_the_points(first_run: Ran) -> None:
    end = first_run.out[first_run.out.index("= points =") :]
    assert "FAILED" not in end
    assert "32 of 100 points" in end


def test_a_failure_is_words_and_the_students_own_line(first_run: Ran) -> None:
    assert first_run.out.count("Observed: Your code stopped with NotImplementedError: ") == collected(
        first_run
    )
    assert first_run.out.count("Your code: self_attention.py, line ") == 4
    assert first_run.out.count("Think about: ") == collected(first_run)
    assert (
        "forward returns the output and the attention weights, each in the promised shape." in first_run.out
    )


def test_a_failure_shows_no_page_of_ours(first_run: Ran) -> None:
    ours = ("def test_", "tests/support", "grader/", "site-packages", "Traceback", ">  ", "E  ")
    assert not [word for word in ours if word in first_run.out]
    assert len(first_run.out.splitlines()) < collected(first_run) * 7 + 30


@pytest.fixture(scope="module")
def halfway(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with self-attention solved, and a cross-attention that prints and is wrong."""
    copy = unpacked(released, tmp_path_factory.mktemp("halfway"))
    solve(copy, "self_attention.py", "cross_attention.py")
    replace(
        copy / "exercises/cross_attention.py",
        "        q = self",
        '        print("looking in")\n        q = self',
    )
    replace(copy / "exercises/cross_attention.py", "mask == 0", "mask == 1")
    return copy


def test_a_solution_pasted_in_earns_its_points(halfway: Path) -> None:
    ran = pytested(halfway)
    assert [table(ran)[title] for title in CORE] == ["8 / 8", "6 / 8", "0 / 4", "0 / 12", "14 / 32"]
    failure = ran.out.split("test_blocked_positions_get_no_weight[cross_attention]")[1]
    assert "Observed: the attention weights[0, 0, " in failure
    assert "looking in" in failure.split("test_output_and_weights")[0]


def test_one_exercise_can_be_run_alone(halfway: Path) -> None:
    ran = pytested(halfway, "-k", "self_attention")
    assert ran.status == 0
    assert re.search(r"\b4 passed, \d+ deselected", ran.out)
    assert table(ran) == {"Self-attention": "8 / 8", "Total": "8 / 8"}


@pytest.fixture(scope="module")
def debugged(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A right answer with a breakpoint: looked around in, gone on from, and at the next test left."""
    copy = unpacked(released, tmp_path_factory.mktemp("debugged"))
    solve(copy, *FILES)
    replace(copy / "exercises/self_attention.py", "        q, k", "        breakpoint()\n        q, k")
    return pytested(copy, "-s", "-k", "self_attention", stdin="p x.shape\nc\nq\n")


def test_breakpoint_opens_at_the_students_line(debugged: Ran) -> None:
    assert "(Pdb) torch.Size([2, 5, 6])" in debugged.out
    own_line = r"> \S+/exercises/self_attention.py\(\d+\)forward\(\)\n-> q, k, v = self.W_Q\(x\)"
    assert len(re.findall(own_line, debugged.out)) == 2


def test_leaving_the_debugger_ends_the_run_without_a_page(debugged: Ran) -> None:
    assert re.search(r"\b1 passed, \d+ deselected", debugged.out)
    assert not [word for word in ("grader/", "FAILED", "Traceback") if word in debugged.out]


# --- the student's commands -----------------------------------------------------------------------


def test_only_the_students_commands_are_there(halfway: Path) -> None:
    ran = run("-m", "grader", "--help", cwd=halfway)
    commands = [line.split()[0] for line in ran.out.split("Commands:\n")[1].splitlines()]
    assert commands == ["check", "hint", "doctor"]


def test_check_and_hint_work_in_the_copy(halfway: Path) -> None:
    checked = run("-m", "grader", "check", cwd=halfway)
    assert checked.status == 0
    assert table(checked)["Total"] == "14 / 32"
    assert "First failure, in cross_attention (masking)" in checked.out
    hint = run("-m", "grader", "hint", "cross_attention", cwd=halfway)
    assert hint.out.startswith("Hint 1 of ")
