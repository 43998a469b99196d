"""One candidate before one suite: whose code it is, and where its numbers are drawn from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from grader.candidate.interface import Candidate


class Finding(Protocol):
    """One diagnosis of one candidate: what is observed, a question, the aspects that it explains."""

    @property
    def id(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def aspects(self) -> Collection[str]: ...


@dataclass(frozen=True)
class ExamSession:
    """The candidate, the run's seed and the submission's id: together they replay a run."""

    candidate: Candidate
    seed: int
    submission: str
    require_gpu: bool = False  # whether device tests may not be taken on a simulated accelerator
    findings: dict[str, Sequence[Finding]] = field(
        default_factory=dict, compare=False
    )  # by exercise, once asked

    def seed_for(self, test: str) -> int:
        """The seed of one test's random numbers, different for every submission and test."""
        text = f"{self.seed}\0{self.submission}\0{test}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")
