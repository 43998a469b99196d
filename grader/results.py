"""The canonical result of a submission: what every report and export reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from grader.text import figure, visible

SCHEMA: Literal["headstart/result/v1"] = "headstart/result/v1"
MAX_MESSAGE = 5_000  # characters


def storable(text: str) -> str:
    """``text`` with what UTF-8 cannot hold spelled out (``\\udce9``), so that any text can be stored.

    File names and a student's messages may hold lone surrogates. Different texts stay different
    unless one of them already spells out the other.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def readable(text: str) -> str:
    """``text`` as a student may read it: storable, of bounded length, and nothing in it acts on a screen."""
    shown = visible(storable(text), keep="\n\t")
    return shown if len(shown) <= MAX_MESSAGE else f"{shown[: MAX_MESSAGE - 1]}…"


Text = Annotated[str, BeforeValidator(lambda value: storable(value) if isinstance(value, str) else value)]


Message = Annotated[str, BeforeValidator(lambda value: readable(value) if isinstance(value, str) else value)]


class Status(StrEnum):
    """Of a submission: *rejected* is the student's to mend, *infrastructure_error* is ours."""

    GRADED = "graded"
    REJECTED = "rejected"
    INFRASTRUCTURE_ERROR = "infrastructure_error"


class TestStatus(StrEnum):
    """Of a test: *failed* was seen to be wrong, *error* gave no answer to judge."""

    __test__ = False  # pytest: this is no test class

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NOT_RUN = "not_run"


class Visibility(StrEnum):
    """Who may see a test's outcome."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    AFTER_DUE_DATE = "after_due_date"


class _Record(BaseModel):
    # Infinity and NaN have no JSON: a result that could not be read back must not be made.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Override(_Record):
    """The instructor's decision on an exercise, from overrides.csv: its ``score`` is then by hand."""

    suite_score: float = Field(description="what the tests gave")
    comment: Text = ""


class ExerciseScore(_Record):
    name: str
    score: float
    max_score: float
    override: Override | None = None


class AspectScore(_Record):
    name: str
    score: float
    max_score: float


class TestResult(_Record):
    """One test of the suite on one submission. ``message`` never holds test source or a solution."""

    __test__ = False

    id: Text
    exercise: str
    aspect: str
    status: TestStatus
    score: float
    max_score: float
    visibility: Visibility
    message: Message = ""
    diagnosis: Message | None = None
    hint: Message | None = None
    duration_s: float = 0.0
    device: str = "cpu"


class Environment(_Record):
    """Where the submission was graded, so that a run can be repeated."""

    python: str
    torch: str
    isolation: str
    device: str
    seed: int


class Result(_Record):
    """One submission, graded. ``score`` counts the core exercises only."""

    schema_: Literal["headstart/result/v1"] = Field(default=SCHEMA, alias="schema")
    submission: Text
    assignment: str
    status: Status
    status_message: Message = ""
    score: float
    max_score: float
    bonus_score: float = 0.0
    exercises: list[ExerciseScore] = []
    aspects: list[AspectScore] = []
    tests: list[TestResult] = []
    environment: Environment
    suite: str = Field(description="hash of the tests and the assignment")
    source: str = Field(description="hash of the submission")
    started_at: datetime
    duration_s: float

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)


def overridden(result: Result, titles: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """What was decided by hand on each exercise, and what the tests gave there, as one clause each."""
    return [
        f"{titles.get(exercise.name, exercise.name)} {figure(exercise.score)} by hand, the tests gave "
        f"{figure(override.suite_score)}" + (f": {override.comment}" if override.comment else "")
        for exercise in result.exercises
        if (override := exercise.override)
    ]


def schema_text() -> str:
    """The JSON Schema of a written Result, as published in ``docs/result.schema.json``."""
    schema = Result.model_json_schema(by_alias=True, mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"
