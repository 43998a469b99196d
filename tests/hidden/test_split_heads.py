"""split_heads on its own: every number in its place, whatever the sizes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support.checks import assert_close, assert_equal
from tests.support.layers import MultiHeadAttentionLayer, Sizes

SIZES = {
    "usual": Sizes(),
    "one head": Sizes(heads=1),
    "one sample": Sizes(batch=1),
    "one token": Sizes(seq_q=1),
    "one feature a head": Sizes(d_k=1),
    "as many heads as samples": Sizes(batch=3),
    "as many heads as tokens": Sizes(seq_q=3),
    "as many features as heads": Sizes(d_k=3),
    "all equal": Sizes(batch=4, seq_q=4, heads=4, d_k=4),
}


def drawn(layer: MultiHeadAttentionLayer, sizes: Sizes) -> Tensor:
    return layer.draw.normal(sizes.batch, sizes.seq_q, sizes.heads * sizes.d_k).float()


def by_hand(x: Tensor, sizes: Sizes) -> Tensor:
    """Head by head: its columns of every token."""
    return torch.stack([x[..., h * sizes.d_k : (h + 1) * sizes.d_k] for h in range(sizes.heads)], dim=1)


@aspect(
    "shapes",
    "split_heads",
    weight=4,
    hint="Follow one number of your input: at which index must it come out?",
)
@pytest.mark.parametrize("name", SIZES)
def test_every_number_lands_in_its_head(layer: MultiHeadAttentionLayer, exercise: str, name: str) -> None:
    """Entry [b, h, s, j] of the result is entry [b, s, h·d_k + j] of the input, at every size."""
    sizes = layer.fit(**{k: getattr(SIZES[name], k) for k in ("batch", "seq_q", "heads", "d_k")})
    x = drawn(layer, sizes)
    assert_equal(layer.split(x, sizes), by_hand(x, sizes), "the result")


@aspect("parity", "split_heads", hint="Does reshaping need the numbers to lie in memory in order?")
def test_the_input_may_lie_in_memory_in_any_order(layer: MultiHeadAttentionLayer, exercise: str) -> None:
    """A transposed view (not contiguous) is split like any other input."""
    x = drawn(layer, layer.sizes).transpose(1, 2).contiguous().transpose(1, 2)
    assert_equal(layer.split(x, layer.sizes), by_hand(x, layer.sizes), "the result")


@aspect("contract", "split_heads", weight=2, hint="Does splitting change any number, or only its place?")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_the_numbers_and_their_dtype_are_kept(
    layer: MultiHeadAttentionLayer, exercise: str, dtype: torch.dtype
) -> None:
    """Splitting moves numbers; it keeps their values and their dtype, and leaves the input alone."""
    x = layer.draw.normal(2, 5, 12).to(dtype)
    seen = layer.build(layer.sizes).watch("split_heads", x, x.shape[0])
    if not isinstance(seen.value, Tensor) or seen.value.dtype is not dtype:
        found = seen.value.dtype if isinstance(seen.value, Tensor) else type(seen.value).__name__
        raise WrongAnswer(f"the result came back as {found}, the input was {dtype}.")
    assert_equal(seen.value, by_hand(x, layer.sizes), "the result")
    assert_equal(seen.args[0], x, "the input, after the call,")


@aspect(
    "gradients", "split_heads", weight=2, hint="Can autograd follow every number back to where it came from?"
)
def test_gradients_find_their_way_back(layer: MultiHeadAttentionLayer, exercise: str) -> None:
    """A gradient for the result arrives at the input in the order of the input."""
    x = drawn(layer, layer.sizes)
    cotangent = layer.draw.normal(2, 3, 5, 4).float()
    found = layer.build(layer.sizes).gradients(x, 2, cotangents=[cotangent], method="split_heads")
    gradient = (found.inputs or [None])[0]
    if gradient is None:
        raise WrongAnswer("no gradient reaches the input.")
    expected = cotangent.transpose(1, 2).reshape(2, 5, 12)
    assert_close(gradient, expected, "the gradient for the input")


@aspect(
    "parity",
    "split_heads",
    weight=2,
    hint="Is there a size in your code that should have come from the input?",
)
def test_one_layer_splits_inputs_of_any_length(layer: MultiHeadAttentionLayer, exercise: str) -> None:
    """The same layer splits queries and keys of different lengths and batches, one after the other."""
    model = layer.build(layer.sizes)
    for batch, length in ((2, 5), (2, 7), (3, 4)):
        x = layer.draw.normal(batch, length, 12).float()
        found = model.call("split_heads", x, batch)
        if not isinstance(found, Tensor):
            raise WrongAnswer(f"split_heads returned {type(found).__name__}, it must return one tensor.")
        assert_equal(found, by_hand(x, layer.sizes), f"the result for {length} tokens")
