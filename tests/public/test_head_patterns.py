"""The public tests of the patterns: heads whose habits are known."""

from __future__ import annotations

import pytest
import torch

from grader.candidate.interface import Candidate
from grader.examination.marks import aspect
from tests.support import shares
from tests.support.checks import assert_close, assert_shape
from tests.support.drawing import Draw
from tests.support.usual_slips import HABITS, assert_head_names, scores_of


@aspect(
    "shapes", "head_patterns", hint="Which axes of the weights are left when the tokens are averaged away?"
)
def test_each_pattern_has_a_score_for_each_head(candidate: Candidate, draw: Draw) -> None:
    """pattern_scores returns a dict with the three promised names, each with a (batch, num_heads) tensor."""
    scores = scores_of(candidate, shares.drawn(draw, 2, 3, 5))
    for name in HABITS:
        assert_shape(scores[name], (2, 3), f"the score {name!r}", "batch, num_heads")


@aspect(
    "parity", "head_patterns", hint="Write down a 3 by 3 table of weights and mark the cells of each pattern."
)
def test_scores_of_a_small_table(candidate: Candidate) -> None:
    """For a table of three tokens the scores are what one counts by hand."""
    table = torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3], [0.2, 0.4, 0.4]])
    scores = scores_of(candidate, table[None, None])
    for name, share in {"diagonal": 1.0 / 3, "previous_token": 0.5, "first_token": 1.3 / 3}.items():
        assert_close(scores[name], torch.tensor([[share]]), f"the score {name!r}")


@aspect("parity", "head_patterns", hint="Which of a head's three scores decides, and is it high enough?")
@pytest.mark.parametrize("habit", HABITS)
def test_a_head_with_one_habit_is_named_after_it(candidate: Candidate, habit: str) -> None:
    """A head that follows one pattern throughout gets its name; one that looks everywhere is mixed."""
    even = torch.full((6, 6), 1 / 6)
    weights = torch.stack([even, shares.pure(habit, 6), even]).expand(2, -1, -1, -1).contiguous()
    assert_head_names(candidate, weights, ["mixed", habit, "mixed"])
