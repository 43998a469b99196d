"""What the results were before a regrade began: remembered on disk, so that a kill does not lose it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.results import ExerciseScore, Result, Text
from grader.store.files import ResultsError, read_result, write_whole
from grader.store.journal import Journal, Mark
from grader.store.packed_results import KeptResults

NAME = "regrade.json"
SCHEMA: Literal["headstart/regrade/v1"] = "headstart/regrade/v1"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)


class _Figures(_Record):
    """What was published of a submission with decisions by hand, where the journal says otherwise."""

    score: float
    bonus_score: float
    exercises: list[ExerciseScore]

    @classmethod
    def of(cls, result: Result) -> Self:
        return cls(score=result.score, bonus_score=result.bonus_score, exercises=result.exercises)


class Baseline(_Record):
    """``regrade.json``, there while a regrade is under way: where the journal ended when it began."""

    schema_: Literal["headstart/regrade/v1"] = Field(default=SCHEMA, alias="schema")
    journal: Mark
    by_hand: dict[Text, _Figures]

    @classmethod
    def unfinished(cls, out: Path, journal: Journal) -> Self | None:
        """That of a regrade of this journal which did not come to its end."""
        try:
            found = cls.model_validate_json((out / NAME).read_bytes())
        except (OSError, ValidationError):
            return None
        return found if journal.before(found.journal) is not None else None

    @classmethod
    def begin(cls, out: Path, journal: Journal) -> Self:
        """Remember the results as they are now, the decisions by hand among them."""
        published = [_published(out, result) for result in journal.results.values()]
        by_hand = {result.submission: _Figures.of(result) for result in published if _is_by_hand(result)}
        baseline = cls(journal=journal.mark(), by_hand=by_hand)
        write_whole(out / NAME, baseline.model_dump_json(by_alias=True, indent=2) + "\n")
        return baseline

    def results(self, journal: Journal) -> Mapping[str, Result]:
        """Each submission's result as it was published then."""
        found = journal.before(self.journal) or KeptResults()
        for id, figures in self.by_hand.items():
            published = found[id].model_copy(update=dict(figures))
            found.keep(published, published.model_dump_json(by_alias=True).encode())
        return found


def end(out: Path) -> None:
    """The regrade is through: the next one compares with what is there now."""
    (out / NAME).unlink(missing_ok=True)


def _published(out: Path, result: Result) -> Result:
    """What the result file says, where it is about the same grading."""
    try:
        found = read_result(out, result.submission)
    except ResultsError:
        return result
    return found if found.started_at == result.started_at else result


def _is_by_hand(result: Result) -> bool:
    return any(exercise.override for exercise in result.exercises)
