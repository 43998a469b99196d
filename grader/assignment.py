"""The assignment as data: exercises, points, limits and policies, read from assignment.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from grader.errors import UsageError

CORE_POINTS = 100


class AssignmentError(UsageError):
    """assignment.toml cannot be used as it stands; the message says why and what to try."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Table):
    """What one submission may use: seconds of wall clock, MiB of memory, KiB of output."""

    call_seconds: float = Field(default=10.0, gt=0)
    submission_seconds: float = Field(default=120.0, gt=0)
    memory_mib: int = Field(default=2048, gt=0)
    output_kib: int = Field(default=64, gt=0)


class Policy(_Table):
    """What the core exercises may not call, as dotted names."""

    refused_in_core: tuple[str, ...] = ()


class Exercise(_Table):
    """One thing to build: the file it lives in, the names it defines, what it is worth.

    ``from_scratch`` refuses in a bonus exercise what is refused in the core.
    """

    name: str
    title: str
    file: str
    defines: tuple[str, ...] = Field(min_length=1)
    points: int = Field(gt=0)
    public_points: int = Field(ge=0)
    bonus: bool = False
    from_scratch: bool = False

    @model_validator(mode="after")
    def _public_is_a_part(self) -> Self:
        if self.public_points > self.points:
            raise ValueError(
                f"{self.name}: public_points ({self.public_points}) exceed points ({self.points})"
            )
        return self


class Assignment(_Table):
    """All of assignment.toml, checked: the core exercises make exactly 100 points.

    ``diagnosis`` is the module whose ``diagnose`` names what is the matter with a wrong answer.
    """

    name: str
    title: str
    diagnosis: str | None = Field(default=None, pattern=r"tests(\.\w+)+")
    limits: Limits = Limits()
    policy: Policy = Policy()
    exercises: dict[str, Exercise]

    @model_validator(mode="after")
    def _core_makes_one_hundred(self) -> Self:
        total = sum(exercise.points for exercise in self.core)
        if total != CORE_POINTS:
            raise ValueError(f"the core exercises must make {CORE_POINTS} points, they make {total}")
        return self

    @property
    def core(self) -> list[Exercise]:
        return [exercise for exercise in self.exercises.values() if not exercise.bonus]

    @property
    def bonus(self) -> list[Exercise]:
        return [exercise for exercise in self.exercises.values() if exercise.bonus]

    @property
    def files(self) -> list[str]:
        """The files a student hands in, in the assignment's order, each once."""
        return list(dict.fromkeys(exercise.file for exercise in self.exercises.values()))

    @property
    def homes(self) -> dict[str, str]:
        """Where each name a student defines belongs: name -> file."""
        return {name: exercise.file for exercise in self.exercises.values() for name in exercise.defines}

    @property
    def test_folders(self) -> list[str]:
        """The folders of tests/ that students have: all but the hidden tests and what is measured with."""
        own = [] if self.diagnosis is None else [self.diagnosis.replace(".", "/")]
        return ["tests/public", "tests/support", *own]

    def refused_in(self, name: str) -> tuple[str, ...]:
        """The library calls refused inside the class or function ``name``."""
        strict = [one for one in self.exercises.values() if one.from_scratch or not one.bonus]
        refused = any(name in exercise.defines for exercise in strict)
        return self.policy.refused_in_core if refused else ()


def load_assignment(root: Path) -> Assignment:
    """Read ``root/assignment.toml``.

    Raises AssignmentError when the file is missing, is not TOML or breaks a rule.
    """
    path = root / "assignment.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AssignmentError(
            f"{path} does not exist. Run this from the folder that holds assignment.toml."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AssignmentError(f"{path} is not valid TOML: {error}. Mend that line and try again.") from error
    exercises = table.get("exercises", {})
    if isinstance(exercises, dict):
        for name, exercise in exercises.items():
            if isinstance(exercise, dict):
                exercise.setdefault("name", name)
    try:
        return Assignment.model_validate(table)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, p['loc'])) or 'assignment'}: {p['msg']}" for p in error.errors()
        )
        raise AssignmentError(f"{path} breaks a rule: {problems}") from error
