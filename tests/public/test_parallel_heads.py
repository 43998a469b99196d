"""The public tests of the three ways to compute one attention."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.candidate.interface import Candidate
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support.checks import assert_close
from tests.support.drawing import Draw
from tests.support.heads import SIZES, WAYS, drawn, operations


@aspect(
    "parity",
    "parallel_heads",
    weight=2,
    hint="Compute one head by hand, and compare it with the same head of the result.",
)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_attention(candidate: Candidate, draw: Draw, way: str) -> None:
    """Without a mask the result is what the formula gives in each head."""
    heads = drawn(draw)
    assert_close(heads.run(candidate, way), heads.expected(), "the result")


@aspect("masking", "parallel_heads", hint="What must a blocked score be, so that nothing is left of it?")
@pytest.mark.parametrize("way", WAYS)
def test_every_way_keeps_to_the_mask(candidate: Candidate, draw: Draw, way: str) -> None:
    """With a mask (seq_q, seq_k), blocked positions take no part in the mixture."""
    heads, mask = drawn(draw), draw.mask(SIZES.seq_q, SIZES.seq_k).int()
    assert_close(heads.run(candidate, way, mask), heads.expected(mask), "the result")


@aspect("contract", "parallel_heads", hint="Is there a loop left in it, open or hidden?")
def test_the_batched_product_takes_no_more_operations_for_more_heads(
    candidate: Candidate, draw: Draw
) -> None:
    """batched_attention takes as many tensor operations for six heads as for two."""
    few, many = (operations(candidate, "batched_attention", draw, replace(SIZES, heads=n)) for n in (2, 6))
    if many > few:
        raise WrongAnswer(f"it takes {few} operations for 2 heads and {many} for 6.")
