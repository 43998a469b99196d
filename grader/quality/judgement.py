"""How well the suites judge: known mistakes must fail and be named, look-alikes must lose nothing."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from grader.assignment import Assignment
from grader.examination.suite import Suite
from grader.quality.cases import CaseError, load_lookalikes, load_mistakes
from grader.quality.check import Check
from grader.quality.mutation_runner import Killed, MutationRunner, Spared, write_matrix

NAMED_SHARE = 0.9  # of the mistakes must get the diagnosis expected, first
SEEDS = 3
FEW = 6  # tests that fail for a mistake, itself included, for it to count as caught by few
ENOUGH = 10  # mistakes of an exercise, before what its tests catch says anything about them

# told the number of cases, gives what is called as each one is through
Watch = Callable[[int], AbstractContextManager[Callable[[], None]]]


def silently(total: int) -> AbstractContextManager[Callable[[], None]]:
    """A watch that shows nothing."""
    return nullcontext(lambda: None)


def judge_suites(
    suite: Suite, root: Path, assignment: Assignment, seed: int, jobs: int, watch: Watch
) -> list[Check]:
    """Run every case in tests/cases on three seeds; the kill matrix goes to build/."""
    cases = root / "tests" / "cases"
    try:
        mistakes = load_mistakes(cases / "mistakes", root / "solutions", assignment)
        lookalikes = load_lookalikes(cases / "lookalikes", assignment)
    except CaseError as error:
        return [Check("cases", False, str(error))]
    if not mistakes and not lookalikes:
        return []
    seeds = [seed + offset for offset in range(SEEDS)]
    mutation_runner = MutationRunner(suite, assignment, seeds, jobs)
    with watch(len(mistakes) + len(lookalikes)) as done:
        killed = mutation_runner.kill(mistakes, done)
        spared = mutation_runner.spare(lookalikes, done)
    write_matrix(root / "build", suite.tests, killed, seed)
    kept = _kept(cases / "kept.toml")
    return [_killed(killed), _named(killed), _needed(suite, killed, kept), _spared(spared)]


def _kept(path: Path) -> set[str]:
    """The tests that stay for a reason given: ``[tests]`` names for each one of ``[reasons]``."""
    table = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    reasons = table.get("reasons", {})
    return {test for test, reason in table.get("tests", {}).items() if reason in reasons}


def _killed(killed: list[Killed]) -> Check:
    alive = [kill for kill in killed if not kill.is_killed]
    seen = f"{len(killed) - len(alive)} of {len(killed)}"
    if alive:
        seen += f"; {_list([f'{kill.id} ({kill.aspect})' for kill in alive])}"
    return Check("mistakes killed", not alive, seen)


def _named(killed: list[Killed]) -> Check:
    named = [kill for kill in killed if kill.is_named]
    enough = len(named) >= NAMED_SHARE * len(killed)
    seen = f"{len(named)} of {len(killed)}"
    if not enough:
        seen += f", fewer than {NAMED_SHARE:.0%}"
    return Check("mistakes named", enough, seen)


def _needed(suite: Suite, killed: list[Killed], kept: set[str]) -> Check:
    """Whether each test catches a mistake that few others do, or somebody has said why it stays."""
    fewest: dict[str, int] = {}
    for kill in killed:
        functions = {id.partition("[")[0] for id in next(iter(kill.failed.values()))}
        for function in functions:
            fewest[function] = min(fewest.get(function, len(functions)), len(functions))
    counts = Counter(kill.exercise for kill in killed)
    measured = {exercise for exercise, count in counts.items() if count >= ENOUGH}
    functions = {test.id.partition("[")[0] for test in suite.tests if test.exercise in measured}
    common = sorted(f for f in functions if fewest.get(f, FEW + 1) > FEW)
    silent = [f for f in common if f.rpartition("::")[2] not in kept]
    seen = f"{len(functions) - len(common)} of {len(functions)} catch what few others do"
    seen += f", {len(common) - len(silent)} more stay for a reason given"
    if silent:
        seen += f"; give one in tests/cases/kept.toml for {_list(silent)}"
    return Check("tests needed", not silent, seen)


def _spared(spared: list[Spared]) -> Check:
    wronged = [case for case in spared if not case.is_right]
    refused = sum(case.refused for case in spared)
    seen = f"{len(spared) - len(wronged)} of {len(spared)} at full points ({refused} refused, as meant)"
    if wronged:
        why = [f"{case.id}: {[*case.lost, *case.named, 'was not refused'][0][:200]}" for case in wronged]
        seen += f"; {_list(why)}"
    return Check("look-alikes", not wronged, seen)


def _list(names: list[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
