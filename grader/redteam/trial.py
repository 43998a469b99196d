"""Trying attacks at a level of isolation: what they earn, whom they touch, what they leave, what is said."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from rich.console import Console

from grader.assignment import Assignment
from grader.examination.suite import Suite
from grader.examination.verdicts import InfrastructureFault
from grader.redteam.corpus import FILE, REACHED, Attack, Code, Scene
from grader.redteam.disclosure import Secrets, telling, unfit, unfit_scores, unfit_screen
from grader.redteam.promises import Promises
from grader.redteam.surroundings import Surroundings
from grader.reports.terminal import class_table
from grader.results import Result, Status
from grader.run.engine import LocalEngine
from grader.run.marking import RunContext
from grader.sandbox.launch import Launcher, WarmHost, launcher
from grader.sandbox.levels import Level
from grader.store.files import RESULT, SCORES, submission_folder, write_result, write_scores
from grader.store.journal import Journal
from grader.submissions import Submission, read_submissions

EXERCISE = "self_attention"
OPEN, CLEAN, SAME = "open", "clean", "same"
_NEIGHBOURS = {"neighbour-right": Code.RIGHT, "neighbour-wrong": Code.WRONG}
_HOME = "SelfAttention"
_EVERY = 3  # of so many tests one is taken: attacks are many
_MOST_MISFITS = 3
_MEMORY_MIB = 512  # so that using it up takes no longer than it must


@dataclass(frozen=True)
class Row:
    """What became of one attack at one level. ``why`` says how it succeeded; empty when it did not."""

    id: str
    what: str
    kind: str
    level: str
    odd: bool
    honest: float
    score: float
    neighbours: str
    machine: str
    verdict: str
    why: list[str] = field(default_factory=list)

    @property
    def is_control(self) -> bool:
        return self.kind == "control"


class LevelRun:
    """One level of isolation, on which attacks are tried one after another. Use as a context manager.

    Each is graded together with two neighbours, by the same intake, engine, marking and reports as
    a class is, on a sample of the tests of one exercise. Raises HostFailed on entry where nothing
    can be graded.
    """

    def __init__(
        self,
        suite: Suite,
        assignment: Assignment,
        ground: Surroundings,
        level: Level,
        codes: Mapping[Code, str],
        promises: Promises,
        seed: int,
        jobs: int = 2,
    ) -> None:
        self._suite = suite.sample(EXERCISE, _EVERY)
        self._assignment = for_one(assignment, EXERCISE)
        self._ground = ground
        self._level = level
        self._codes = codes
        self._promises = promises
        self._seed = seed
        self._jobs = jobs
        self._secrets = Secrets.of(ground.root, [str(ground.base)])
        self._honest: dict[tuple[Code, str], Result] = {}

    def __enter__(self) -> Self:
        self._start()
        self._ground.clear()
        self._hand_in_neighbours()
        self._undisturbed = {r.submission: verdict(r) for r in self._grade(self._read(), None)[0]}
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _start(self) -> None:
        self._open = ExitStack()
        self._host: Launcher = launcher(self._level)
        self._open.callback(self._host.close)
        self._engines: dict[float | None, LocalEngine] = {}
        self._host.ready()

    def run(self, attack: Attack) -> Row:
        """Try one attack; whatever it left behind is removed."""
        is_open = bool(attack.opens) and not self._promises.hold(attack.opens, self._level)
        if is_open and attack.fatal:
            return self._row(attack, None, [], OPEN, "not tried: it would succeed", [])
        self._ground.clear()
        self._hand_in_neighbours()
        hand_in(attack, self._ground, self._codes)
        before = self._ground.look()
        fallen = ""
        submissions: list[Submission] = []
        results: list[Result] = []
        faults: dict[str, str] = {}
        unfit_records: list[str] = []
        try:
            submissions = self._read()
            results, faults, unfit_records = self._grade(submissions, attack.seconds)
        except Exception as error:
            fallen = f"the grader fell over: {type(error).__name__}: {error}"
        mine = [result for result in results if result.submission not in _NEIGHBOURS]
        others = [result for result in results if result.submission in _NEIGHBOURS]
        left = self._ground.changes(before, patient=not is_open)
        if left:
            self._ground.tidy(before)
        if not self._host_is_alive():
            left.append("the host is gone")
            self._open.close()
            self._start()
        reached = [message for result in mine for message in messages(result) if REACHED in message]
        left += [f"it got at something: {message[message.index(REACHED) :][:120]}" for message in reached[:1]]
        touched = self._touched(others)
        told, misfits = self._told(attack, mine, _own_words(submissions), is_open)
        gained = [*self._overpaid(attack, mine), *left]
        why = [fallen] if fallen else []
        why += [*([] if is_open else gained), *touched, *misfits, *unfit_records]
        why += [f"it met a fault of ours: {account.splitlines()[0]}" for account in faults.values()]
        machine = OPEN if is_open and gained else left[0] if left else CLEAN
        return self._row(attack, mine, touched, machine, told, why)

    # what is handed in and graded

    def _hand_in_neighbours(self) -> None:
        for name, code in _NEIGHBOURS.items():
            folder = self._ground.handed_in / name
            folder.mkdir()
            (folder / FILE).write_text(self._codes[code], encoding="utf-8")

    def _read(self) -> list[Submission]:
        return read_submissions(self._ground.handed_in, self._assignment)

    def _grade(
        self, submissions: Sequence[Submission], seconds: float | None
    ) -> tuple[list[Result], dict[str, str], list[str]]:
        """Results, faults of ours, and what is wrong with the records that were written of them."""
        engine = self._engine(seconds)
        engine.faults.clear()
        out = self._ground.out
        with Journal.start(out) as journal:
            for result in engine.grade(submissions):
                journal.append(result)
                write_result(out, result)
            results = [journal.results[id] for id in sorted(journal.results)]
        write_scores(out, results)
        return results, dict(engine.faults), list(_unfit_records(out, results, self._assignment))

    def _engine(self, seconds: float | None) -> LocalEngine:
        """An engine whose calls may take so long; the assignment's own time unless said."""
        if seconds not in self._engines:
            limits = self._assignment.limits.model_copy(update={"memory_mib": _MEMORY_MIB})
            if seconds is not None:
                limits = limits.model_copy(update={"call_seconds": seconds})
            assignment = self._assignment.model_copy(update={"limits": limits})
            context = RunContext(
                assignment, self._suite.tests, self._suite.digest, self._seed, str(self._level)
            )
            engine = LocalEngine(context, self._suite, self._host, self._jobs)
            self._engines[seconds] = self._open.enter_context(engine)
        return self._engines[seconds]

    def _control(self, code: Code, id: str) -> Result | None:
        """What the honest code earns under the same id, from which its inputs are drawn."""
        if code is Code.NOTHING:
            return None
        if (code, id) not in self._honest:
            submission = Submission(id, Path(id), {FILE: self._codes[code].encode()}, {_HOME: FILE})
            engine = self._engine(None)
            self._honest[code, id] = next(engine.grade([submission]))
            if engine.faults:
                raise InfrastructureFault("\n".join(engine.faults.values()))
        return self._honest[code, id]

    def _host_is_alive(self) -> bool:
        """Whether workers can still be started; where they start cold, there is nothing that could end."""
        return not isinstance(self._host, WarmHost) or self._host.is_alive()

    # what is asked of it

    def _overpaid(self, attack: Attack, mine: Sequence[Result]) -> list[str]:
        found = []
        for result in mine:
            control = self._control(attack.behind, result.submission)
            due = {} if control is None else {one.name: one.score for one in control.exercises}
            for exercise in result.exercises:
                honest = due.get(exercise.name, 0.0)
                if exercise.score > honest:
                    found.append(f"it earned {exercise.score:g}, and its code is worth {honest:g}")
                elif attack.odd and exercise.score < honest:
                    found.append(f"it earned {exercise.score:g}, and is only odd: it is worth {honest:g}")
        return found

    def _touched(self, others: Sequence[Result]) -> list[str]:
        found = {result.submission: verdict(result) for result in others}
        return [
            f"the result of {id} is not what it is without the attack: {_difference(wanted, found.get(id))}"
            for id, wanted in self._undisturbed.items()
            if found.get(id) != wanted
        ]

    def _told(self, attack: Attack, mine: Sequence[Result], own: str, is_open: bool) -> tuple[str, list[str]]:
        """The line that tells the student what happened, and what is wrong with what they read."""
        if not mine:
            return "nothing", ["it got no result at all"]
        texts = [message for result in mine for message in messages(result)]
        found = next((line for text in texts if (line := telling(text, attack.says))), None)
        problems = (problem for text in texts for problem in unfit(text, self._secrets, own))
        misfits = list(dict.fromkeys(problems))[:_MOST_MISFITS]
        if found is None and attack.says and not is_open:
            first = next(iter(texts), "nothing")
            misfits.append(f"nothing the student reads says {attack.says!r}; it says {first[:300]!r}")
        return found or next(iter(texts), "full points"), misfits

    def _row(
        self,
        attack: Attack,
        mine: Sequence[Result] | None,
        touched: Sequence[str],
        machine: str,
        told: str,
        why: list[str],
    ) -> Row:
        best = max(mine or (), key=lambda result: result.score, default=None)
        control = self._control(attack.behind, best.submission if best else "attack")
        return Row(
            id=attack.id,
            what=attack.what,
            kind=attack.kind,
            level=str(self._level),
            odd=attack.odd,
            honest=0.0 if control is None else control.score,
            score=0.0 if best is None else best.score,
            neighbours=touched[0] if touched else SAME,
            machine=machine,
            verdict=told,
            why=why,
        )


def hand_in(attack: Attack, ground: Surroundings, codes: Mapping[Code, str]) -> None:
    """Let the attack make its submission on that ground, around the honest code it hides behind."""
    scene = Scene(
        handed_in=ground.handed_in,
        honest=codes[attack.behind],
        root=ground.root,
        gradebook=ground.gradebook,
        home=ground.home,
        temporary=ground.temporary,
        mark=ground.mark,
        grader=os.getpid(),
        port=ground.port,
    )
    made = attack.make(scene)
    if made is not None:
        content = made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made
        (scene.folder / FILE).write_bytes(content)


def for_one(assignment: Assignment, exercise: str) -> Assignment:
    """The assignment with that exercise alone: quicker, and nothing else is said to be missing."""
    return assignment.model_copy(update={"exercises": {exercise: assignment.exercises[exercise]}})


def _own_words(submissions: Iterable[Submission]) -> str:
    """What the attacker wrote, which a message may quote."""
    mine = [one for one in submissions if one.id not in _NEIGHBOURS]
    return "\n".join(content.decode("utf-8", "replace") for one in mine for content in one.files.values())


def messages(result: Result) -> list[str]:
    """All that a student may read of a result, what matters most first."""
    texts = [result.status_message]
    for test in result.tests:
        texts += [test.message, test.hint or "", test.diagnosis or ""]
    return [text for text in dict.fromkeys(texts) if text]


def verdict(result: Result) -> dict[str, Any]:
    """What must not depend on when, or how fast, a submission was graded."""
    document = result.model_dump(mode="json", by_alias=True, exclude={"started_at", "duration_s"})
    for test in document["tests"]:
        del test["duration_s"]
    return document


def _difference(wanted: dict[str, Any], found: dict[str, Any] | None) -> str:
    if found is None:
        return "there is none"
    if wanted["score"] != found["score"]:
        return f"{found['score']:g} points instead of {wanted['score']:g}"
    for one, other in zip(wanted["tests"], found["tests"], strict=False):
        if one != other:
            return f"{one['id']}: {other['message'][:200]!r} instead of {one['message'][:200]!r}"
    return next((f"{key} differs" for key in wanted if wanted[key] != found[key]), "")


def _unfit_records(out: Path, results: Iterable[Result], assignment: Assignment) -> Iterable[str]:
    """What is wrong with the files and the table that were written of these results."""
    results = list(results)
    for result in results:
        try:
            path = submission_folder(out, result.submission) / RESULT
            if Result.model_validate_json(path.read_bytes()) != result:
                yield f"{path.name} of {result.submission!r} says something else than was found"
        except (OSError, ValueError) as error:
            yield f"{RESULT} of {result.submission!r} cannot be read again: {error}"
    yield from unfit_scores((out / SCORES).read_bytes(), results)
    screen = io.StringIO()
    Console(file=screen, width=100).print(class_table(results, assignment))
    yield from unfit_screen(screen.getvalue())
    strange = {path.name for path in out.iterdir()} - {"journal.jsonl", SCORES, "submissions"}
    strange |= {path.name for path in (out / "submissions").iterdir()} - {r.submission for r in results}
    if any(result.status is Status.GRADED and not result.exercises for result in results):
        yield "a result has no scores"
    yield from (f"{name!r} lies in the results, and nobody put it there" for name in sorted(strange))
