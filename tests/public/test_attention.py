"""The public tests of the three layers. They are a fair part of the whole, not all of it."""

from __future__ import annotations

from grader.examination.marks import aspect
from tests.support import masks
from tests.support.checks import assert_attention_close, assert_close, assert_equal, assert_shape
from tests.support.layers import ALL_LAYERS, Layer


@aspect(
    "shapes",
    *ALL_LAYERS,
    weight=2,
    multi_head_attention=3,
    hint="Write the shape next to every line of your forward. Which one is the first that surprises you?",
)
def test_output_and_weights_have_the_promised_shapes(layer: Layer) -> None:
    """forward returns the output and the attention weights, each in the promised shape."""
    trial = layer.trial()
    output, weights = trial.run()
    assert_shape(output, layer.output_shape(trial.sizes), "the output")
    assert_shape(weights, layer.weights_shape(trial.sizes), "the attention weights")


@aspect("parity", *ALL_LAYERS, hint="Take one query. Over which positions must its weights share out 1.0?")
def test_the_weights_of_each_query_add_up_to_one(layer: Layer) -> None:
    """The weights of one query are shares: none is negative and together they make 1."""
    weights = layer.trial().weights()
    assert_close(weights.sum(-1), weights.new_ones(weights.shape[:-1]), "the sum of the weights of one query")
    assert_equal(weights.clamp(min=0), weights, "the attention weights, with negative ones set to 0,")


@aspect(
    "parity",
    *ALL_LAYERS,
    weight=3,
    multi_head_attention=5,
    hint="Compute the scores of two tokens by hand, then compare each step of your forward with yours.",
)
def test_output_and_weights_follow_the_formula(layer: Layer) -> None:
    """With known weights and no mask, output and attention weights are what the formula gives."""
    trial = layer.trial()
    assert_attention_close(trial.run(), trial.expected())


@aspect(
    "masking",
    *ALL_LAYERS,
    weight=2,
    multi_head_attention=3,
    hint="What must a score be before the softmax, so that nothing is left of it afterwards?",
)
def test_blocked_positions_get_no_weight(layer: Layer) -> None:
    """Where the mask is 0 the weight is exactly 0, and the rest is shared among what may be seen."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "query x key", trial.sizes, "int")
    found, free = trial.weights_with_and_without(mask)
    blocked = (mask == 0).expand(found.shape)
    assert_equal(found, found.masked_fill(blocked, 0.0), "the attention weights", rows=blocked)
    assert_close(found, masks.applied(free, mask), "the attention weights")
