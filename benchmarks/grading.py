"""Seconds per submission: a fresh pytest process, the warm examiner on a local and on an isolated candidate.

Side by side in one run, turn by turn, because machines are noisy: quote the ratios. Then memory
over many submissions. Run it from the project's root: ``python benchmarks/grading.py``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import load_assignment  # noqa: E402
from grader.candidate.interface import Candidate  # noqa: E402
from grader.examination.plugin import student_candidate  # noqa: E402
from grader.examination.session import ExamSession  # noqa: E402
from grader.examination.suite import Suite, with_suite  # noqa: E402
from grader.run.engine import LocalEngine  # noqa: E402
from grader.run.marking import RunContext  # noqa: E402
from grader.sandbox.launch import Launcher, launcher  # noqa: E402
from grader.sandbox.levels import Level, offered  # noqa: E402
from grader.sandbox.warmth import warm_up, warm_up_accelerator  # noqa: E402
from grader.scoring import SuiteTest  # noqa: E402
from grader.submissions import read_submissions  # noqa: E402

CEILING_OF_LOCAL = 2.0  # isolated takes at most this many times warm local
SHARE_OF_FRESH = 1 / 8  # isolated, as `grade` examines one submission here, of a fresh process
CEILING_OF_LEVEL = 1.25  # the level asked for takes at most this many times level process


def fresh_process(left_out: list[str]) -> float:
    """A new pytest process for the core's suite, as a plain grader would start one."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "--candidate=solutions", "tests/public", "tests/hidden", "-o", "addopts=", *left_out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"the fresh process failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - started


def in_fork(work: Callable[[], None]) -> float:
    """The seconds that ``work`` takes in a fork of this warm process, the fork included."""
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1] != 0:
        raise SystemExit("a warm run failed")
    return time.perf_counter() - started


def measure(suite: Suite, rounds: int, submissions: int, level: Level) -> None:
    assignment = load_assignment(ROOT)
    solution = read_submissions(ROOT / "solutions", assignment)[0]
    host, plain = launcher(level), launcher(Level.PROCESS)
    for started in (host, plain):
        started.ready()

    core = {exercise.name for exercise in assignment.core}
    core_names = {name for exercise in assignment.core for name in exercise.defines}
    tests = [test for test in suite.tests if test.exercise in core]
    files = {test.id.partition("::")[0] for test in suite.tests}
    left_out = [f"--ignore={file}" for file in sorted(files - {t.id.partition("::")[0] for t in tests})]

    def sit(candidate: Candidate) -> None:
        suite.examine(ExamSession(candidate, 1, "solutions"), only=lambda test: test.exercise in core)

    def local() -> None:
        sit(student_candidate(assignment, ROOT / "solutions"))

    def at(launcher: Launcher, *, halved: bool = False) -> Callable[[], None]:
        """As the engine examines one submission: in one go, or in halves on two processors."""
        context = RunContext(assignment, suite.tests, suite.digest, 1, str(launcher.level))
        engine = LocalEngine(context, suite, launcher)
        handed_in = replace(solution, homes={name: solution.homes[name] for name in core_names})
        return lambda: check(engine.examine(handed_in, halved=halved), tests)

    isolated = f"warm {level}"
    halves = f"{level}, halved"
    works = {"warm local": local, "warm process": at(plain), isolated: at(host)}
    if (os.cpu_count() or 1) > 1:
        works[halves] = at(host, halved=True)
    times: dict[str, list[float]] = {"fresh process": [], **{name: [] for name in works}}
    for _ in range(rounds):
        times["fresh process"].append(fresh_process(left_out))
        for _ in range(3):  # the short ones more often
            for name, work in works.items():
                times[name].append(in_fork(work))
    middle = {name: statistics.median(values) for name, values in times.items()}
    print(f"{len(tests)} tests of the core exercises, seconds per submission (median, least to most)")
    for name, values in times.items():
        print(f"  {name:20}  {middle[name]:6.2f}   {min(values):.2f} to {max(values):.2f}   of {len(values)}")
    _verdict(f"{level} / warm local", middle[isolated] / middle["warm local"], CEILING_OF_LOCAL)
    shares = {name: middle[name] / middle["fresh process"] for name in (isolated, halves) if name in middle}
    if halves in shares:  # what `grade` does with one submission where a second processor is idle
        print(f"  {f'{level} / fresh, in one go':30} {shares[isolated]:6.3f}   of one processor's time")
    _verdict(f"{level} / fresh, as graded", shares.get(halves, shares[isolated]), SHARE_OF_FRESH)
    _verdict(f"{level} / process", middle[isolated] / middle["warm process"], CEILING_OF_LEVEL)
    if submissions:
        memory(at(host), submissions)
    host.close()
    plain.close()


def check(answer: dict[str, Any], tests: list[SuiteTest]) -> None:
    """A benchmark of wrong results would be worth nothing."""
    wrong = [test.id for test in tests if answer["outcomes"][test.id]["status"] != "passed"]
    if wrong:
        raise SystemExit(f"not passed: {wrong[0]}")


def memory(isolated: Callable[[], None], submissions: int) -> None:
    """Resident memory of the examiner and the host while many submissions pass."""
    me = psutil.Process()

    def mib() -> float:
        return sum(process.memory_info().rss for process in [me, *me.children(recursive=True)]) / 2**20

    print(f"resident memory of examiner and host over {submissions} submissions, MiB")
    seen = [mib()]
    for number in range(1, submissions + 1):
        in_fork(isolated)
        if number % max(1, submissions // 10) == 0:
            time.sleep(0.05)  # the host has buried the worker by then
            seen.append(mib())
            print(f"  after {number:4}  {seen[-1]:7.1f}", flush=True)
    print(f"  grown by {seen[-1] - seen[1]:.1f} since the first tenth")


def _verdict(name: str, ratio: float, ceiling: float) -> None:
    print(f"  {name:30} {ratio:6.3f}   ceiling {ceiling:.3f}: {'holds' if ratio <= ceiling else 'BROKEN'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes to start (default: 3)")
    parser.add_argument("--submissions", type=int, default=500, help="for the memory part (0: leave it out)")
    parser.add_argument("--isolation", help="the level to measure (default: the highest offered)")
    arguments = parser.parse_args()
    level = Level.named(arguments.isolation) if arguments.isolation else offered()
    warm_up_accelerator()
    warm_up()
    with_suite(ROOT, lambda suite: measure(suite, arguments.rounds, arguments.submissions, level))


if __name__ == "__main__":
    main()
