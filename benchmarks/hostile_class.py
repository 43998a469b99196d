"""A class of which a third is hostile: what it does to the others, to memory and to the machine.

The others are graded once without and once with the hostile third, from the same seed; each must
get the same verdict to the last word. Run it from the project's root:
``python benchmarks/hostile_class.py``. Exit status 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import load_assignment  # noqa: E402
from grader.redteam.corpus import FILE, Attack, Code, honest_codes, load_attacks  # noqa: E402
from grader.redteam.promises import load_promises  # noqa: E402
from grader.redteam.surroundings import Surroundings  # noqa: E402
from grader.redteam.trial import hand_in  # noqa: E402
from grader.results import Result, Status  # noqa: E402
from grader.run.grading import Options, Run, grade  # noqa: E402
from grader.sandbox.levels import Level, offered  # noqa: E402

CASES = ROOT / "tests" / "cases" / "attacks"
GROWTH_MIB = 16.0  # what examiner and host may grow by after the first tenth of the class
# shorter than an assignment's, so that what hangs does not take the day; an honest call takes milliseconds
LIMITS = {"call_seconds": 2.0, "submission_seconds": 12.0, "memory_mib": 512}


@dataclass
class Memory:
    """Watches a run: resident memory of the examiner and its host after each submission, in MiB."""

    total: int
    seen: list[tuple[float, float]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def advance(self, result: Result) -> None:
        self.seen.append((_mib(psutil.Process()), sum(map(_mib, hosts()))))
        if len(self.seen) % max(1, self.total // 10) == 0:
            examiner, host = self.seen[-1]
            print(f"  after {len(self.seen):4}  {examiner:7.1f}  {host:7.1f}", flush=True)

    @property
    def growth(self) -> tuple[float, float]:
        """Of the examiner and of the host, since the first tenth."""
        start, end = self.seen[len(self.seen) // 10], self.seen[-1]
        return end[0] - start[0], end[1] - start[1]


def hosts() -> list[psutil.Process]:
    """The processes below this one that run ``host.main`` and are no forks of another that does."""

    def is_host(process: psutil.Process | None) -> bool:
        try:
            command = process.cmdline() if process is not None else []
        except psutil.Error:
            return False
        return command[:1] == [sys.executable] and "host.main(" in command[-1]

    found = filter(is_host, psutil.Process().children(recursive=True))
    return [process for process in found if not is_host(process.parent())]


def _mib(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss / 2**20)
    except psutil.Error:
        return 0.0


def hand_in_others(to: Path, numbers: Sequence[int]) -> set[str]:
    """Right, wrong and untouched answers in turn; their names."""
    wrong = honest_codes(CASES, ROOT)[Code.WRONG]
    for number in numbers:
        folder = to / f"s{number:03}"
        folder.mkdir()
        source = ROOT / ("exercises" if number % 6 == 4 else "solutions")
        for file in source.glob("*_attention.py"):
            shutil.copy2(file, folder)
        if number % 6 == 1:
            (folder / FILE).write_text(wrong, encoding="utf-8")
    return {f"s{number:03}" for number in numbers}


def hand_in_attack(attack: Attack, number: int, ground: Surroundings) -> None:
    """What the attack makes, under this number."""
    before = set(os.listdir(ground.handed_in))
    hand_in(attack, ground, honest_codes(CASES, ROOT))
    for name in set(os.listdir(ground.handed_in)) - before:
        (ground.handed_in / name).rename(ground.handed_in / f"h{number:03}-{name}"[:120])


def run(path: Path, out: Path, jobs: int, seed: int) -> tuple[Run, Memory, float]:
    """Grade as the command does, but for shorter limits; the seconds it took."""
    assignment = load_assignment(ROOT)
    limits = assignment.limits.model_copy(update=LIMITS)
    memory = Memory(0)

    def watch(total: int, done: int) -> Memory:
        memory.total = total
        return memory

    started = time.monotonic()
    assignment = assignment.model_copy(update={"limits": limits})
    done = grade(ROOT, path, out, assignment, Options(jobs, seed), watch)
    return done, memory, time.monotonic() - started


def reap() -> None:
    """Take leave of what has ended and was inherited: on this ground, orphans become this process's own."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def verdict(result: Result) -> dict[str, Any]:
    """What must not depend on when, or how fast, a submission was graded."""
    document = result.model_dump(mode="json", by_alias=True, exclude={"started_at", "duration_s"})
    for test in document["tests"]:
        del test["duration_s"]
    return document


def chosen(count: int, seed: int, level: Level) -> list[Attack]:
    """So many attacks, each as often as any other; none that docs/security.md calls open at this level."""
    promises = load_promises(ROOT)
    attacks = [
        attack
        for attack in load_attacks(CASES)
        if not attack.odd and (not attack.opens or promises.hold(attack.opens, level))
    ]
    draw = random.Random(seed)
    found: list[Attack] = []
    while len(found) < count:
        found += draw.sample(attacks, min(len(attacks), count - len(found)))
    return found


def measure(submissions: int, jobs: int, seed: int) -> bool:
    """Print what was seen; whether all of it holds."""
    level = offered()
    attacks = chosen(submissions // 3, seed, level)
    with Surroundings(ROOT) as ground:
        ground.clear()
        names = hand_in_others(ground.handed_in, range(submissions - len(attacks)))
        alone, _, seconds = run(ground.handed_in, ground.out / "alone", jobs, seed)
        print(f"{len(names)} submissions without the hostile ones, level {level}: {seconds:.0f} s")
        for number, attack in enumerate(attacks):
            hand_in_attack(attack, number, ground)
        before = ground.look()
        print(f"with {len(attacks)} hostile ones, of {len({one.id for one in attacks})} kinds; --seed {seed}")
        print("resident memory, MiB: examiner, host")
        together, memory, seconds = run(ground.handed_in, ground.out / "together", jobs, seed)
        reap()
        left = ground.changes(before)
    return report(alone, together, names, memory, left, seconds)


def report(
    alone: Run, together: Run, names: set[str], memory: Memory, left: list[str], seconds: float
) -> bool:
    """The lines at the end, and whether each holds."""
    expected = {result.submission: verdict(result) for result in alone.results}
    found = {result.submission: verdict(result) for result in together.results}
    changed = sorted(name for name in names if expected.get(name) != found.get(name))
    ours = sorted(r.submission for r in together.results if r.status is Status.INFRASTRUCTURE_ERROR)
    examiner, host = memory.growth
    print(f"{len(found)} submissions in {seconds:.0f} s")
    return all(
        [
            _holds(
                f"{len(names) - len(changed)} of {len(names)} others are judged as without them", not changed
            ),
            _holds(f"{len(ours)} could not be graded", not ours),
            _holds(f"grown since the first tenth: examiner {examiner:.1f} MiB", examiner <= GROWTH_MIB),
            _holds(f"grown since the first tenth: host {host:.1f} MiB", host <= GROWTH_MIB),
            _holds(f"{len(left)} files or processes left behind", not left),
            _say([*changed, *ours, *together.faults.values(), *together.warnings, *left]),
        ]
    )


def _holds(what: str, holds: bool) -> bool:
    print(f"  {what}: {'holds' if holds else 'BROKEN'}")
    return holds


def _say(lines: Sequence[str]) -> bool:
    for line in lines[:20]:
        print(f"    {line}")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=300, help="how many, a third of them hostile")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    parser.add_argument("--seed", type=int, default=1, help="which attacks, and which numbers are drawn")
    arguments = parser.parse_args()
    if not measure(arguments.submissions, arguments.jobs, arguments.seed):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
