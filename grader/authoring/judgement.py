"""How well the suites judge: known mistakes must fail and be named, look-alikes must lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from grader.assignment import Assignment
from grader.authoring.cases import CaseError, load_lookalikes, load_mistakes
from grader.authoring.check import Check
from grader.authoring.measure import Killed, Laboratory, Spared, write_matrix
from grader.examination.suite import Suite

NAMED_SHARE = 0.9  # of the mistakes must get the diagnosis expected, first
SEEDS = 3

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
    laboratory = Laboratory(suite, assignment, seeds, jobs)
    with watch(len(mistakes) + len(lookalikes)) as done:
        killed = laboratory.kill(mistakes, done)
        spared = laboratory.spare(lookalikes, done)
    write_matrix(root / "build", suite.tests, killed, seed)
    return [_killed(killed), _named(killed), _spared(spared)]


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
