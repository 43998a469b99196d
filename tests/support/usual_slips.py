"""Reading what the pattern functions return."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from grader.candidate.interface import Candidate
from grader.examination.verdicts import WrongAnswer

from .checks import kind_of

HABITS = ("diagonal", "previous_token", "first_token")


def scores_of(candidate: Candidate, weights: Tensor) -> dict[str, Tensor]:
    """What pattern_scores returns. Raises WrongAnswer unless it is the three scores by name."""
    return as_scores(candidate.apply("pattern_scores", weights).value)


def as_scores(value: Any) -> dict[str, Tensor]:
    """The three scores by name. Raises WrongAnswer for anything else."""
    if not isinstance(value, dict):
        raise WrongAnswer(f"pattern_scores returned {kind_of(value)}, it must return a dict.")
    if set(value) != set(HABITS):
        raise WrongAnswer(
            f"the names in the dict are {', '.join(map(str, value)) or 'none'}; "
            f"they must be {', '.join(HABITS)}."
        )
    for name, score in value.items():
        if not isinstance(score, Tensor):
            raise WrongAnswer(f"the score {name!r} is {kind_of(score)}, it must be a tensor.")
    return value


def assert_head_names(candidate: Candidate, weights: Tensor, expected: list[str], **keywords: float) -> None:
    """Raises WrongAnswer unless dominant_pattern gives these names."""
    value = candidate.apply("dominant_pattern", weights, **keywords).value
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise WrongAnswer(f"dominant_pattern returned {kind_of(value)}, it must return a list of names.")
    if len(value) != len(expected):
        raise WrongAnswer(f"dominant_pattern returned {len(value)} names for {len(expected)} heads.")
    for head, (name, wanted) in enumerate(zip(value, expected, strict=True)):
        if name != wanted:
            raise WrongAnswer(f"head {head} is called {name!r}, it must be {wanted!r}.")
