"""A copy of the project to run commands in, as a user runs them, and what they left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from grader.assignment import load_assignment

ROOT = Path(__file__).resolve().parents[2]
FILES = ("self_attention.py", "cross_attention.py", "multi_head_attention.py")
SMALL_SUITE = '''\
from grader.examination.marks import aspect
from tests.support.checks import assert_attention_close, assert_shape
from tests.support.layers import ALL_LAYERS, Layer, MultiHeadAttentionLayer


@aspect("parity", *ALL_LAYERS)
def test_the_formula_once_more(layer: Layer) -> None:
    """With other numbers, output and weights follow the formula, too."""
    trial = layer.trial()
    assert_attention_close(trial.run(), trial.expected())


@aspect("shapes", "split_heads")
def test_three_heads(layer: MultiHeadAttentionLayer) -> None:
    """Three heads get four features each."""
    x = layer.draw.normal(2, 5, 12).float()
    assert_shape(layer.split(x, layer.fit(heads=3, d_k=4)), (2, 3, 5, 4), "the result")
'''
_COPIED = (
    *(
        "grader",
        "tests/public",
        "tests/support",
        "tests/diagnosis",
        "tests/hidden",
        "tests/__init__.py",
        "solutions",
    ),
    *("exercises", "assignment.toml", "conftest.py", "LICENSE", "requirements-student.txt"),
    *("docs/student-readme.md", "samples"),
)


@dataclass(frozen=True)
class Ran:
    """A command that came to its end."""

    status: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err

    @property
    def document(self) -> Any:
        """What ``--json`` printed."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Project:
    """A copy of the project; a test may change any of its files."""

    root: Path

    def run(self, *arguments: str | Path, stdin: str = "", seconds: float = 300) -> Ran:
        """``python -m grader ...`` in this copy, to its end."""
        return run("-m", "grader", *arguments, cwd=self.root, stdin=stdin, seconds=seconds)

    def start(self, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """The same without waiting, as the leader of a process group of its own."""
        command = [sys.executable, "-m", "grader", *map(str, arguments)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            command, cwd=self.root, env=environment(), stdout=quiet, stderr=quiet, start_new_session=True
        )

    def change(self, name: str, old: str, new: str) -> None:
        """Replace ``old``, which must be there, in a file of this copy."""
        replace(self.root / name, old, new)

    def processes(self) -> list[psutil.Process]:
        """What runs for this copy: examiners, hosts and workers all name its folder when started."""
        return [process for process in psutil.process_iter() if str(self.root) in _command(process)]

    def is_quiet(self, seconds: float = 20.0) -> bool:
        """Whether all that ran for this copy has ended, within so many seconds."""
        return wait_until(lambda: not self.processes(), seconds)


def copied(to: Path, *, suite: str | None = SMALL_SUITE) -> Project:
    """The project copied into the new folder ``to``, with ``suite`` as its hidden tests if given.

    Such a small suite is about the core: the bonus exercises are then left out.
    """
    for name in _COPIED:
        source, target = ROOT / name, to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy2(source, target)
    project = Project(to)
    if suite is not None:
        for file in (to / "tests/hidden").glob("test_*.py"):
            file.unlink()
        (to / "tests/hidden/test_small.py").write_text(suite)
        _leave_out_bonus(to)
        project.change("assignment.toml", "call_seconds = 10 ", "call_seconds = 3 ")
    return project


def _leave_out_bonus(root: Path) -> None:
    """Take every bonus exercise out of the copy in ``root``: its table, tests, solution, stub and hints."""
    toml = root / "assignment.toml"
    for exercise in load_assignment(root).bonus:
        table = re.compile(rf"^\[exercises\.{exercise.name}\]\n(?:[^\[\n].*\n)*", re.MULTILINE)
        toml.write_text(table.sub("", toml.read_text()))
        (root / f"tests/public/test_{exercise.name}.py").unlink()
        for folder in ("solutions", "exercises"):
            names = (
                exercise.file,
                f"hints/{exercise.name}.md",
                f"notebooks/{Path(exercise.file).stem}.ipynb",
            )
            for name in (*names, f"notebooks/{exercise.file}"):
                (root / folder / name).unlink(missing_ok=True)


def environment() -> dict[str, str]:
    """A plain one: no terminal, nothing of the test run's own."""
    ours = ("PYTEST", "PYTHON", "CI", "BUILD_NUMBER")  # pytest prints more where it takes itself to be in CI
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "TERM": "dumb", "COLUMNS": "100"}


def run(*arguments: str | Path, cwd: Path, stdin: str = "", seconds: float = 300) -> Ran:
    """This interpreter with ``arguments``, in ``cwd``, to its end."""
    ended = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=seconds,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def replace(file: Path, old: str, new: str) -> None:
    """Replace ``old``, which must be there, in ``file``."""
    text = file.read_text()
    assert old in text, f"{file} does not hold {old!r}"
    file.write_text(text.replace(old, new))


def hand_in(folder: Path, source: Path = ROOT / "solutions", **changed: str | None) -> Path:
    """A submission: the exercise files of ``source``; ``changed`` gives another text, or leaves one out."""
    folder.mkdir(parents=True)
    for name in FILES:
        text = changed.get(name.removesuffix(".py"), (source / name).read_text())
        if text is not None:
            (folder / name).write_text(text)
    return folder


def hand_in_class(folder: Path, right: Iterable[str]) -> Path:
    """A class: right answers under these names, the stubs, and one that turns the mask round."""
    for name in right:
        hand_in(folder / name)
    hand_in(folder / "stubs", ROOT / "exercises")
    source = (ROOT / "solutions/self_attention.py").read_text()
    hand_in(folder / "wrong", self_attention=source.replace("mask == 0", "mask == 1"))
    return folder


def results(out: Path) -> dict[str, dict[str, Any]]:
    """Each submission's ``result.json``, by the submission it is about."""
    documents = [json.loads(path.read_text()) for path in (out / "submissions").glob("*/result.json")]
    return {document["submission"]: document for document in documents}


def journal(out: Path) -> list[dict[str, Any]]:
    """The lines of the journal."""
    file = out / "journal.jsonl"
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []


def verdict(result: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on when or how fast a submission was graded."""
    tests = [{k: v for k, v in test.items() if k != "duration_s"} for test in result["tests"]]
    return {**{k: v for k, v in result.items() if k not in ("started_at", "duration_s")}, "tests": tests}


def verdicts(out: Path) -> dict[str, dict[str, Any]]:
    return {name: verdict(result) for name, result in results(out).items()}


def points(result: dict[str, Any]) -> dict[str, float]:
    """Exercise -> score."""
    return {exercise["name"]: exercise["score"] for exercise in result["exercises"]}


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether ``holds`` came true within so many seconds."""
    deadline = time.monotonic() + seconds
    while not (true := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return true


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """``kill -9`` the process and its group, as an out-of-memory killer or a job's end does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) if process.status() != psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""
