"""The sample class through nbgrader: are its scores those of `grade`, and how long does a notebook take?

Prints what was handed in and what came out for each submission; then the seconds a notebook takes under our
preprocessors and in nbgrader's own kernels, the same honest notebooks in one run (others are waited for).
Exit status 1 when a score differs. Run it with `make nbgrader`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.grader.courses import Course, sources_of
from tests.grader.project import FILES, ROOT, Project, results

CLASS = ROOT / "samples/class"
BONUS = ("head_plots.py", "head_patterns.py", "parallel_heads.py")
HONEST = ("s01-complete", "s06-heads-mixed-up")
CORE, EXTRA = "attention", "attention-bonus"


@dataclass(frozen=True)
class Row:
    """One submission: its notebooks, and its score by `grade` itself and in the gradebook."""

    student: str
    notebooks: int
    own: tuple[float, float]
    entered: tuple[float, float]

    @property
    def same(self) -> bool:
        return self.own == self.entered


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="headstart-nbgrader-"))
    try:
        return run(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path) -> int:
    project = Project(ROOT)
    course = made(folder / "course", project)
    students = hand_in_samples(course, folder)
    own = grade(project, folder / "results")
    autograde(course, CORE)
    autograde(course, EXTRA)
    step(course, "generate_feedback", CORE)
    step(course, "export", "--to", "grades.csv")
    rows = [row(course, student, own) for student in students]
    show(rows)

    seconds = {}
    timed = made(folder / "timed", project)
    for student in HONEST:
        shutil.copytree(course.root / "submitted" / student / CORE, timed.root / "submitted" / student / CORE)
    seconds["isolated"] = autograde(timed, CORE)
    shutil.rmtree(timed.root / "autograded")
    timed.graded_by_stock()
    seconds["stock"] = autograde(timed, CORE)
    differing = [name for name in HONEST if timed.scores()[name] != own[name][0]]
    for way, one in seconds.items():
        print(f"{way:>10}: {one:.2f} s a notebook")
    print(f"{'ratio':>10}: {seconds['stock'] / seconds['isolated']:.1f} times as fast behind the wall")
    wrong = [one.student for one in rows if not one.same] + [
        f"{name} in stock nbgrader" for name in differing
    ]
    print(f"{len(rows)} submissions in, {len(rows)} scores out, " + verdict(wrong))
    return 1 if wrong else 0


def verdict(wrong: list[str]) -> str:
    return f"not as by `grade`: {', '.join(wrong)}" if wrong else "each equal to `grade`'s own"


def made(root: Path, project: Project) -> Course:
    """A course of this project with both assignments generated."""
    course = Course(root, project, f"sqlite:///{root / 'gradebook.db'}")
    ran = project.run("release", "--format", "nbgrader", "--out", root)
    if ran.status:
        raise SystemExit(ran.both)
    for assignment in (CORE, EXTRA):
        step(course, "generate_assignment", assignment)
    return course


def step(course: Course, *arguments: str) -> None:
    ran = course.nbgrader(*arguments)
    if ran.status:
        raise SystemExit(ran.both)


def hand_in_samples(course: Course, folder: Path) -> list[str]:
    """The sample class as nbgrader would have collected it; who they are."""
    for sample in sorted(CLASS.iterdir()):
        if sample.suffix == ".ipynb":  # all classes in one notebook of the student's own
            course.hand_in(sample.name, {"self_attention": sample.read_text()})
            continue
        source = sample
        if sample.suffix == ".zip":
            source = folder / sample.stem
            with zipfile.ZipFile(sample) as archive:
                archive.extractall(source)
            source = next(path.parent for path in source.rglob("self_attention.py"))
        course.hand_in(
            sample.name,
            course.filled(sources_of(source, FILES)),
            files=sources_of(source, ["attention_core.py"]),
        )
        if bonus := sources_of(source, BONUS):
            course.hand_in(sample.name, course.filled(bonus, EXTRA), EXTRA)
    return sorted(path.name for path in (course.root / "submitted").iterdir())


def grade(project: Project, out: Path) -> dict[str, tuple[float, float]]:
    """Score and bonus of each sample by `grade` itself."""
    ran = project.run("grade", CLASS, "--out", out)
    if ran.status:
        raise SystemExit(ran.both)
    return {name: (result["score"], result["bonus_score"]) for name, result in results(out).items()}


def autograde(course: Course, assignment: str) -> float:
    """Seconds a notebook."""
    started = time.monotonic()
    step(course, "autograde", assignment)
    return (time.monotonic() - started) / len([*(course.root / "submitted").glob(f"*/{assignment}/*.ipynb")])


def row(course: Course, student: str, own: dict[str, tuple[float, float]]) -> Row:
    count = len([*(course.root / "submitted" / student).glob("*/*.ipynb")])
    entered = (course.scores()[student], course.scores(EXTRA).get(student, 0.0))
    return Row(student, count, own[student], entered)


def show(rows: list[Row]) -> None:
    print(f"{'submission':<24}{'notebooks':>10}{'grade':>16}{'gradebook':>16}")
    for one in rows:
        own, entered = (f"{score:g} +{bonus:g}" for score, bonus in (one.own, one.entered))
        print(f"{one.student:<24}{one.notebooks:>10}{own:>16}{entered:>16}{'' if one.same else '  differs'}")


if __name__ == "__main__":
    sys.exit(main())
