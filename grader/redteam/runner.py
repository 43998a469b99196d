"""All attacks at all levels: the corpus, the run and the account of it."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.examination.suite import Suite, with_suite
from grader.quality.cases import CaseError
from grader.quality.judgement import Watch, silently
from grader.redteam.corpus import honest_codes, load_attacks
from grader.redteam.promises import load_promises
from grader.redteam.surroundings import Surroundings
from grader.redteam.trial import OPEN, LevelRun, Row
from grader.sandbox.levels import Level, offers


@dataclass(frozen=True)
class AttackRun:
    """What became of every attack at every level that was tried."""

    rows: Sequence[Row]
    levels: Sequence[str]
    seed: int

    @property
    def succeeded(self) -> list[Row]:
        return [row for row in self.rows if row.why]

    def summary(self) -> list[str]:
        """The lines below the table; the last one says whether the wall holds."""
        odd = {row.id for row in self.rows if row.odd}
        wronged = {row.id for row in self.succeeded if row.odd}
        attacks = {row.id for row in self.rows} - odd
        lines = [f"levels: {', '.join(self.levels)}; drawn with --seed {self.seed}"]
        if odd:
            whole = len(odd - wronged)
            lines.append(f"{len(odd)} only odd, or controls: {whole} earned exactly what they are worth")
        for level in self.levels:
            count = sum(row.machine == OPEN for row in self.rows if row.level == level)
            if count:
                lines.append(f"at {level}, {count} do what docs/security.md calls open there")
        succeeded = {row.id for row in self.succeeded} - odd
        return [*lines, f"{len(attacks)} attacks, {len(succeeded)} succeeded"]

    def document(self) -> dict[str, Any]:
        """The same for a program."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "levels": list(self.levels),
            "seed": self.seed,
            "succeeded": sorted({row.id for row in self.succeeded}),
            "summary": self.summary(),
        }


def run_attacks(
    root: Path,
    assignment: Assignment,
    levels: Sequence[Level] = (),
    only: Collection[str] = (),
    seed: int | None = None,
    jobs: int = 2,
    watch: Watch = silently,
    cases: Path | None = None,
) -> AttackRun:
    """Try the attacks of ``tests/cases/attacks``, or those of ``only``, at these levels, or at all offered.

    Raises CaseError for a case, id or level that there is not, HostFailed or InfrastructureFault
    when nothing can be graded.
    """
    folder = cases or root / "tests" / "cases" / "attacks"
    attacks = load_attacks(folder)
    if unknown := set(only) - {attack.id for attack in attacks}:
        raise CaseError(f"There is no attack {sorted(unknown)[0]!r}. Without --only, all are listed.")
    attacks = [attack for attack in attacks if not only or attack.id in only]
    promises = load_promises(root)
    if strange := [one.id for one in attacks if one.opens and one.opens not in promises.cells]:
        raise CaseError(f"{strange[0]} names a row that docs/security.md does not have. Name one it has.")
    levels = levels or [level for level in Level if level and not offers()[level]]
    for level in levels:
        if level is Level.NONE or offers()[level]:
            why = offers()[level] or "a submission is never run in the grader's own process"
            raise CaseError(f"Nothing is tried at level {level}: {why}. Leave --isolation out for all.")
    seed = secrets.randbelow(2**31) if seed is None else seed
    codes = honest_codes(folder, root)

    def work(suite: Suite) -> list[Row]:
        rows = []
        with Surroundings(root) as ground, watch(len(attacks) * len(levels)) as done:
            for level in levels:
                with LevelRun(suite, assignment, ground, level, codes, promises, seed, jobs) as level_run:
                    for attack in attacks:
                        rows.append(level_run.run(attack))
                        done()
        return rows

    return AttackRun(with_suite(root, work), [str(level) for level in levels], seed)
