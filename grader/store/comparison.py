"""Two gradings of a class side by side: whose points changed, by how much, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.results import ExerciseScore, Result, Status, TestResult, Text
from grader.scoring import SCORE_PLACES
from grader.text import one_line


class Cause(StrEnum):
    """What a score changed for."""

    SUBMISSION = "submission"  # another source was handed in
    STATUS = "status"  # graded, rejected, or not graded for a fault of ours
    TEST = "test"  # it came out otherwise, is new or is gone
    POINTS = "points"  # it came out the same and is worth more or less
    OVERRIDE = "override"  # a decision by hand was added, removed or changed


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)


class Reason(_Record):
    """One cause of a change. Of a test, ``test`` is its id without the case, ``cases`` how many there are.

    ``before`` and ``after`` are statuses, or points where an exercise was decided by hand; "" where there
    was nothing. ``words`` are what the failing test says, or the instructor's comment.
    """

    cause: Cause
    exercise: str = ""
    test: Text = ""
    cases: int = 0
    before: str | float = ""
    after: str | float = ""
    difference: float = 0.0
    words: Text = ""


class Figures(_Record):
    """A submission's points; ``score`` is null where it was not graded for a fault of ours."""

    score: float | None
    bonus_score: float | None
    max_score: float


class Change(_Record):
    """A submission whose points changed."""

    submission: Text
    before: Figures
    after: Figures
    difference: float
    reasons: list[Reason]


class Comparison(_Record):
    """What a regrade came to, as ``changes.json`` holds it and ``--json`` prints it.

    ``graded`` is how many were graded again. ``gone`` are no longer handed in, ``faulty`` met the fault of
    ours that is told: both keep the result they had.
    """

    schema_: Literal["headstart/changes/v1"] = Field(default="headstart/changes/v1", alias="schema")
    suite_before: str
    suite_after: str
    seed: int
    graded: int
    changed: list[Change]
    unchanged: int
    gone: list[Text]
    faulty: dict[Text, Text]


def compared(
    before: Mapping[str, Result],
    after: Mapping[str, Result],
    *,
    suite: str,
    seed: int,
    graded: int,
    gone: list[str],
    faulty: dict[str, str],
) -> Comparison:
    """Compare the submissions that are in both, by id; ``suite`` is the hash of the tests as they are now."""
    both = sorted(before.keys() & after.keys())
    changed, suites = [], Counter[str]()
    for id in both:
        old, new = before[id], after[id]
        suites[old.suite] += 1
        if _points(old) != _points(new):
            changed.append(_change(old, new))
    apart = {change.submission for change in changed} | set(gone) | set(faulty)
    return Comparison(
        suite_before=suites.most_common(1)[0][0],
        suite_after=suite,
        seed=seed,
        graded=graded,
        changed=changed,
        unchanged=len(set(both) - apart),
        gone=gone,
        faulty=faulty,
    )


def _points(result: Result) -> tuple[object, ...]:
    scores = [(exercise.name, exercise.score) for exercise in result.exercises]
    return (_figures(result), *scores)


def _figures(result: Result) -> Figures:
    if result.status is Status.INFRASTRUCTURE_ERROR:
        return Figures(score=None, bonus_score=None, max_score=result.max_score)
    return Figures(score=result.score, bonus_score=result.bonus_score, max_score=result.max_score)


def _change(before: Result, after: Result) -> Change:
    old, new = _figures(before), _figures(after)
    return Change(
        submission=after.submission,
        before=old,
        after=new,
        difference=_difference(old.score, new.score),
        reasons=list(_reasons(before, after)),
    )


def _reasons(before: Result, after: Result) -> Iterator[Reason]:
    if before.source != after.source:
        yield Reason(cause=Cause.SUBMISSION)
    if before.status is not after.status:
        yield Reason(cause=Cause.STATUS, before=before.status, after=after.status, words=after.status_message)
    if Status.INFRASTRUCTURE_ERROR in (before.status, after.status):
        return  # one of them has no scores to compare
    old = {exercise.name: exercise for exercise in before.exercises}
    new = {exercise.name: exercise for exercise in after.exercises}
    for name in [*new, *(name for name in old if name not in new)]:
        by_hand = [one for one in (old.get(name), new.get(name)) if one and one.override]
        if by_hand:
            yield from _decision(name, old.get(name), new.get(name))
        else:
            yield from _tests(name, before.tests, after.tests)


def _decision(name: str, old: ExerciseScore | None, new: ExerciseScore | None) -> Iterator[Reason]:
    was, now = (old.score if old else 0.0), (new.score if new else 0.0)
    if was == now:
        return
    decided = new if new and new.override else old
    assert decided is not None
    assert decided.override is not None
    yield Reason(
        cause=Cause.OVERRIDE,
        exercise=name,
        before=was if old and old.override else "",
        after=now if new and new.override else "",
        difference=_difference(was, now),
        words=decided.override.comment,
    )


def _tests(exercise: str, before: list[TestResult], after: list[TestResult]) -> Iterator[Reason]:
    """A reason for each test that moved points; the cases of one test that went the same way are one."""
    old = {test.id: test for test in before if test.exercise == exercise}
    new = {test.id: test for test in after if test.exercise == exercise}
    groups: dict[tuple[str, str, str], list[tuple[Fraction, str]]] = {}
    for id in [*new, *(id for id in old if id not in new)]:
        was, now = old.get(id), new.get(id)
        moved = _worth(now) - _worth(was)
        if moved:
            key = (id.partition("[")[0], was.status if was else "", now.status if now else "")
            failing = now if now and not now.score else was
            groups.setdefault(key, []).append((moved, failing.message if failing else ""))
    for (test, was_status, now_status), cases in groups.items():
        yield Reason(
            cause=Cause.POINTS if was_status == now_status else Cause.TEST,
            exercise=exercise,
            test=test,
            cases=len(cases),
            before=was_status,
            after=now_status,
            difference=_rounded(sum((moved for moved, _ in cases), Fraction(0))),
            words=one_line(next((words for _, words in cases if words), "")),
        )


def _worth(test: TestResult | None) -> Fraction:
    return Fraction(str(test.score)) if test else Fraction(0)


def _difference(before: float | None, after: float | None) -> float:
    return _rounded(Fraction(str(after or 0.0)) - Fraction(str(before or 0.0)))


def _rounded(points: Fraction) -> float:
    return float(round(points, SCORE_PLACES))
