"""Shapes at the edges: widths, lengths and batches of one, equal sizes, odd memory layouts."""

from __future__ import annotations

import pytest

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support.checks import as_attention, assert_attention_close, assert_shape
from tests.support.layers import ALL_LAYERS, EDGES, Layer, answers


@aspect(
    "shapes",
    "self_attention",
    "cross_attention",
    hint="Ask for d_k = 4 with d_model = 6: how wide is your output?",
)
def test_d_k_sets_the_width(layer: Layer) -> None:
    """With an explicit d_k, queries, keys, values and the output are d_k wide."""
    sizes = layer.fit(d_model=6, d_k=4)
    assert_shape(
        layer.trial(sizes).run().output, layer.output_shape(sizes), "the output", "batch, seq_q, d_k"
    )


@aspect("shapes", "self_attention", "cross_attention", hint="What should d_k be when nobody says it?")
def test_d_k_defaults_to_d_model(layer: Layer) -> None:
    """Without d_k, queries, keys, values and the output are as wide as the input."""
    sizes = layer.fit(d_model=6, d_k=6)
    model = layer.candidate.build(layer.class_name, sizes.d_model).eval()
    shapes = layer.parameter_shapes(sizes)
    model.load({name: layer.draw.normal(*weight).float() for name, weight in shapes.items()})
    inputs = [layer.draw.normal(*shape).float() for shape in layer.input_shapes(sizes)]
    output = as_attention(model(*inputs)).output
    assert_shape(output, layer.output_shape(sizes), "the output", "batch, seq_q, d_model")


@aspect(
    "shapes",
    *ALL_LAYERS,
    weight=2,
    multi_head_attention=4,
    hint="Which line of yours would notice if an axis had length 1, or if two axes were equally long?",
)
@pytest.mark.parametrize("edge", ["one token", "one key", "one sample and one head"])
def test_unusual_sizes_keep_every_axis(layer: Layer, edge: str) -> None:
    """Batches, lengths and head counts of one, or equal to one another, take no axis away."""
    trial = layer.trial(layer.fit(**EDGES[edge]))
    output, weights = trial.run()
    assert_shape(output, layer.output_shape(trial.sizes), "the output")
    assert_shape(weights, layer.weights_shape(trial.sizes), "the attention weights")


@aspect(
    "shapes", *ALL_LAYERS, hint="view() needs memory in order. Do you know in which order your tensors lie?"
)
def test_inputs_may_lie_in_memory_in_any_order(layer: Layer) -> None:
    """Inputs that are transposed views (not contiguous) give the same answer."""
    trial = layer.trial()
    views = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in trial.inputs]
    assert_attention_close(*answers((trial.with_inputs(*views), None), (trial, None)))


@aspect(
    "shapes", "multi_head_attention", weight=2, hint="Does any number in your code fit only small examples?"
)
def test_the_size_of_a_real_model(layer: Layer) -> None:
    """32 sentences of 100 tokens, 512 features and 8 heads are nothing special."""
    sizes = layer.fit(batch=32, seq_q=100, seq_k=100, heads=8, d_k=64)
    x = layer.draw.normal(1, 100, 512).float().repeat(32, 1, 1)
    found = layer.build(sizes).shapes(x, x, x)
    expected = [(32, 100, 512), (32, 8, 100, 100)]  # of the output, of the attention weights
    if found != expected:
        raise WrongAnswer(f"the shapes returned are {found}, they must be {expected}.")
