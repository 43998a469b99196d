"""Many results at a time, kept small: a whole one takes half a megabyte of memory, and most of it repeats."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

from grader.results import Result


class KeptResults(Mapping[str, Result]):
    """The latest result of each submission, in the order in which submissions first came.

    Each is packed away as JSON and made anew whenever it is asked for (some milliseconds).
    """

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}

    def keep(self, result: Result, line: bytes) -> None:
        """Keep ``result``; ``line`` is the same as JSON."""
        self._packed[result.submission] = zlib.compress(line, level=1)

    def last(self) -> Result | None:
        """The submission's that came last."""
        name = next(reversed(self._packed), None)
        return None if name is None else self[name]

    def __getitem__(self, submission: str) -> Result:
        return Result.model_validate_json(zlib.decompress(self._packed[submission]))

    def __contains__(self, submission: object) -> bool:
        return submission in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
