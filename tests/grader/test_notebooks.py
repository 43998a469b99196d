"""Notebooks of the exercises: the stub in cells, the same every time, and a look at one's own weights."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.release.leaks import find_leaks
from grader.release.notebooks import make_notebook
from grader.release.stubs import MANIFEST, GenerationError, generate, render
from tests.grader.project import ROOT, copied, points, results, run

SOLUTIONS = ROOT / "solutions"
NAMES = sorted(path.stem for path in SOLUTIONS.glob("notebooks/*.py"))
STUB = '''\
"""Scaling: numbers made smaller.

Twice the width, half the number.
"""

# one import
import math

WIDTH = 4


# a class of its own
class Scale:
    def forward(self, x):
        raise NotImplementedError("Divide.")


@staticmethod
def half(x):
    raise NotImplementedError("Halve.")
'''
LAST = '"""A look.\n\nAt numbers.\n"""\n\nfrom scale import Scale\n\nprint(Scale)\n'
# Runs a notebook's code cells as a kernel would, one after the other in one namespace.
PLAYER = """\
import json, sys, warnings
warnings.simplefilter("ignore")
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
if "matplotlib" in sys.modules:
    from matplotlib import pyplot
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        figure.canvas.draw()
        pictures = [place for place in figure.axes if place.images]
        words = [label.get_text() for label in pictures[0].get_xticklabels()]
        print("figure", len(pictures), pictures[0].images[0].get_array().shape, words[:2])
"""


def cells(notebook: str, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == kind]


def handed_out(name: str) -> str:
    return render(SOLUTIONS)[f"notebooks/{name}.ipynb"].decode()


def solved(name: str) -> str:
    """The notebook with the solution's classes and functions pasted over the stub's."""
    document = json.loads(handed_out(name))
    text = (SOLUTIONS / f"{name}.py").read_text()
    answers = {node.name: node for node in ast.parse(text).body if hasattr(node, "name")}
    for cell in document["cells"]:
        written = [answer for answer in answers if f" {answer}(" in "".join(cell["source"])[:80]]
        if written and "raise NotImplementedError" in "".join(cell["source"]):
            cell["source"] = ast.get_source_segment(text, answers[written[0]])
    return json.dumps(document)


def played(notebook: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "played.ipynb").write_text(notebook)
    return subprocess.run(
        [sys.executable, "-c", PLAYER, "played.ipynb"],
        cwd=folder,
        env={"MPLBACKEND": "Agg", "MPLCONFIGDIR": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


# --- what is in it --------------------------------------------------------------------------------


def test_the_code_cells_hold_the_stub_and_nothing_of_it_is_lost() -> None:
    code = cells(make_notebook(STUB, "scale.py"), "code")
    assert code == [
        "# one import\nimport math\n\nWIDTH = 4",
        STUB[STUB.index("# a class") : STUB.index("\n\n\n@static")],
        STUB[STUB.index("@static") :].rstrip(),
    ]


def test_the_docstring_becomes_the_introduction_with_how_to_go_on() -> None:
    (words,) = cells(make_notebook(STUB, "scale.py"), "markdown")
    assert words.startswith("# Scaling: numbers made smaller\n\nTwice the width, half the number.\n\nWrite ")
    assert "`scale.py`" in words


def test_the_closing_cell_needs_no_import_of_the_exercise() -> None:
    notebook = make_notebook(STUB, "scale.py", LAST)
    assert cells(notebook, "code")[-1] == "print(Scale)"
    assert cells(notebook, "markdown")[-1] == "## A look\n\nAt numbers."


def test_a_notebook_is_the_same_every_time_and_everywhere() -> None:
    text = make_notebook(STUB, "scale.py", LAST)
    document: dict[str, Any] = json.loads(text)
    assert text == make_notebook(STUB, "scale.py", LAST)
    assert [cell["id"] for cell in document["cells"]] == [f"cell-{number}" for number in range(1, 7)]
    assert not [cell for cell in document["cells"] if cell["metadata"] or cell.get("outputs")]
    assert document["metadata"]["language_info"] == {"name": "python"}
    assert text.endswith("}\n")
    assert "\r" not in text


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_with_a_closing_cell_is_handed_out_as_a_notebook(name: str) -> None:
    text = handed_out(name)
    assert (ROOT / f"exercises/notebooks/{name}.ipynb").read_text() == text
    assert find_leaks({f"{name}.ipynb": text.encode()}, SOLUTIONS, ROOT / "tests/hidden") == []
    *before, last = cells(text, "code")
    assert "import matplotlib" in last
    assert name == "head_plots" or "matplotlib" not in "".join(before)  # plots are that exercise's subject


# --- generation -----------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """A solutions folder with one exercise, and the exercises made of it."""
    source = STUB.replace("        raise", "        ### BEGIN SOLUTION\n        raise", 1)
    source = source.replace('"Divide.")', '"Divide.")\n        ### END SOLUTION')
    (tmp_path / "solutions/notebooks").mkdir(parents=True)
    (tmp_path / "solutions/scale.py").write_text(source)
    (tmp_path / "solutions/notebooks/scale.py").write_text(LAST)
    generate(tmp_path / "solutions", tmp_path / "exercises")
    return tmp_path / "solutions", tmp_path / "exercises"


def test_the_manifest_covers_notebooks(made: tuple[Path, Path]) -> None:
    assert "notebooks/scale.ipynb" in json.loads((made[1] / MANIFEST).read_text())
    (made[0] / "notebooks/scale.py").write_text(LAST.replace("numbers", "figures"))
    assert generate(*made).written == ("notebooks/scale.ipynb",)
    assert "At figures." in (made[1] / "notebooks/scale.ipynb").read_text()


def test_an_edited_notebook_is_never_overwritten(made: tuple[Path, Path]) -> None:
    (made[1] / "notebooks/scale.ipynb").write_text("mine")
    with pytest.raises(GenerationError, match=r"notebooks/scale\.ipynb"):
        generate(*made)
    assert (made[1] / "notebooks/scale.ipynb").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [("scale.py", "x = (", "not valid Python"), ("scales.py", LAST, r"has no scales\.py")],
)
def test_a_closing_cell_that_cannot_be_used_is_refused(
    made: tuple[Path, Path], name: str, text: str, why: str
) -> None:
    (made[0] / "notebooks" / name).write_text(text)
    with pytest.raises(GenerationError, match=why):
        generate(*made)


# --- in a student's hands -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_untouched_it_runs_through_and_says_what_is_missing(name: str, tmp_path: Path) -> None:
    ran = played(handed_out(name), tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "this exercise is not solved. Still to do: " in ran.stdout
    assert "\nfigure " not in f"\n{ran.stdout}"


@pytest.mark.parametrize("name", NAMES)
def test_solved_it_runs_through_and_draws_the_students_weights(name: str, tmp_path: Path) -> None:
    ran = played(solved(name), tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("figure ")
    assert "'the', 'cat'" in ran.stdout


def test_a_solved_notebook_is_graded_as_the_file_would_be(tmp_path: Path) -> None:
    project = copied(tmp_path / "root")
    (tmp_path / "self_attention.ipynb").write_text(solved("self_attention"))
    ran = project.run("grade", tmp_path / "self_attention.ipynb", "--out", tmp_path / "out", "--seed", "3")
    assert ran.status == 0, ran.both
    assert points(results(tmp_path / "out")["self_attention.ipynb"])["self_attention"] == 25


def test_the_closing_cells_also_run_as_scripts_beside_the_solutions(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(SOLUTIONS)!r}); import runpy; runpy.run_path(sys.argv[1])"
    for name in NAMES:
        ran = run("-W", "ignore", "-c", program, SOLUTIONS / f"notebooks/{name}.py", cwd=tmp_path)
        assert ran.status == 0, ran.both
