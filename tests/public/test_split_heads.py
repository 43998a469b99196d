"""The public tests of split_heads."""

from __future__ import annotations

import torch

from grader.examination.marks import aspect
from tests.support.checks import assert_equal, assert_shape
from tests.support.layers import MultiHeadAttentionLayer


@aspect(
    "shapes", "split_heads", hint="Which axes does the result have, in which order, and how long is each?"
)
def test_heads_get_an_axis_of_their_own(layer: MultiHeadAttentionLayer, exercise: str) -> None:
    """split_heads turns (batch, seq_len, d_model) into (batch, num_heads, seq_len, d_k)."""
    x = layer.draw.normal(2, 5, 12).float()
    assert_shape(
        layer.split(x, layer.fit(heads=3, d_k=4)),
        (2, 3, 5, 4),
        "the result",
        "batch, num_heads, seq_len, d_k",
    )


@aspect(
    "parity",
    "split_heads",
    hint="Follow the numbers 0 to 11 of one token through your code: which of them reach head 0?",
)
def test_each_head_gets_neighbouring_features_of_every_token(layer: MultiHeadAttentionLayer) -> None:
    """Head h holds features h·d_k to (h+1)·d_k - 1 of each token, with tokens and samples kept apart."""
    x = torch.arange(2 * 5 * 12, dtype=torch.float32).reshape(2, 5, 12)
    by_hand = torch.stack([x[:, :, 0:4], x[:, :, 4:8], x[:, :, 8:12]], dim=1)
    assert_equal(layer.split(x, layer.fit(heads=3, d_k=4)), by_hand, "the result")
