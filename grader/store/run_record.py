"""How a run was made: what it takes to go on with it, or to grade it again, under the same conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.errors import UsageError
from grader.results import Text, storable
from grader.store.files import write_whole

NAME = "run.json"
SCHEMA: Literal["headstart/run/v1"] = "headstart/run/v1"


class RunRecordError(UsageError):
    """How a run was made cannot be told; the message says why and what to try."""


class RunRecord(BaseModel):
    """``run.json`` in a folder of results, written before the first submission is graded.

    ``submissions`` is the path as it was given, ``submissions_from_root`` the same from the root of
    the file system. ``isolation`` is the level that was chosen, null where the highest was taken;
    ``within`` the folder in each student's folder that was handed in, null where that is all of it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    schema_: Literal["headstart/run/v1"] = Field(default=SCHEMA, alias="schema")
    submissions: Text
    submissions_from_root: Text
    seed: int
    shard: tuple[int, int] = (1, 1)
    isolation: str | None = None
    require_isolation: str = "none"
    require_gpu: bool = False
    within: Text | None = None

    def write(self, out: Path) -> Path:
        """Write ``out/run.json`` whole; returns where it is."""
        path = out / NAME
        write_whole(path, self.model_dump_json(by_alias=True, indent=2) + "\n")
        return path

    def moved(self, path: Path) -> Self:
        """The same run, its submissions now being at ``path``."""
        where = {"submissions": storable(str(path)), "submissions_from_root": storable(str(path.absolute()))}
        return self.model_copy(update=where)

    @classmethod
    def read(cls, out: Path) -> Self | None:
        """What ``out/run.json`` says, None where there is no such file. Raises RunRecordError."""
        path = out / NAME
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
            raise RunRecordError(
                f"{path} cannot be read: {first}. It says how the run was made. Put an older copy of it "
                "back, or grade into another --out folder."
            ) from error
