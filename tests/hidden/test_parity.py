"""Output and weights against PyTorch's own attention, and what follows from the formula."""

from __future__ import annotations

import pytest
import torch

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import masks
from tests.support.checks import assert_attention_close, assert_close
from tests.support.extreme_scores import steep
from tests.support.layers import ALL_LAYERS, Layer, answers

WIDTHS = {"narrow": {"d_k": 2}, "usual": {}, "odd": {"d_k": 5}, "wide": {"d_k": 24, "seq_q": 4, "seq_k": 9}}
SIZES = {
    **{name: change for name, change in WIDTHS.items() if change},
    "one sample, one head, as many keys as queries": {"batch": 1, "heads": 1, "seq_k": 5},
    "as many samples as heads and tokens": {"batch": 3, "heads": 3, "seq_q": 3},
}


@aspect(
    "parity",
    *ALL_LAYERS,
    multi_head_attention=2,
    hint="Which of your numbers would have to change if d_k or the lengths did?",
)
@pytest.mark.parametrize("size", SIZES)
def test_the_formula_at_every_size(layer: Layer, size: str) -> None:
    """With known weights, output and attention weights follow the formula whatever the sizes are."""
    trial = layer.trial(layer.fit(**SIZES[size]))
    assert_attention_close(trial.run(), trial.expected())


@aspect("parity", *ALL_LAYERS, hint="Does what you mix the values with differ from what you return?")
@pytest.mark.parametrize("form", masks.FORMS_3D[:2])
def test_the_formula_under_a_mask(layer: Layer, form: str) -> None:
    """Under a mask, output and attention weights follow the formula, too."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, form, trial.sizes)
    assert_attention_close(trial.run(mask), trial.expected(mask))


@aspect("parity", *ALL_LAYERS, hint="Where in your code could numbers lose digits?")
@pytest.mark.parametrize("masked", [True], ids=["masked"])
def test_the_formula_in_double_precision(layer: Layer, masked: bool) -> None:
    """In float64 output and attention weights follow the formula more closely still."""
    trial = layer.trial(layer.fit(d_k=4), torch.float64)
    mask = masks.drawn(layer.draw, "query x key", trial.sizes) if masked else None
    assert_attention_close(trial.run(mask), trial.expected(mask))


@aspect("parity", *ALL_LAYERS, hint="One very large score in the first row: what happens to the second?")
@pytest.mark.parametrize("masked", [False], ids=["no mask"])
def test_rows_of_very_large_and_very_small_scores(layer: Layer, masked: bool) -> None:
    """Scores of +300 in one row and -300 in another leave every row right: no overflow, no 0/0."""
    heights = [300.0, -300.0, 0.0, 150.0, -150.0]
    trial = steep(layer, heights[: layer.sizes.seq_q])
    mask = masks.drawn(layer.draw, "query x key", trial.sizes) if masked else None
    # neighbours of 300 are 3e-5 apart in float32: right answers lose that much
    assert_attention_close(trial.run(mask), trial.expected(mask), slack=10)


@aspect("parity", *ALL_LAYERS, hint="Does the answer for one sentence depend on the sentence next to it?")
def test_samples_of_a_batch_do_not_meet(layer: Layer) -> None:
    """Each sample of a batch gets the answer it would get alone."""
    trial = layer.trial(layer.fit(batch=3))
    together, alone = answers((trial, None), (trial.with_inputs(*(x[1:2] for x in trial.inputs)), None))
    trial.shaped(together)
    assert_close(alone.weights, together.weights[1:2], "the attention weights of the second sample alone")
    assert_close(alone.output, together.output[1:2], "the output of the second sample alone")


@aspect(
    "parity",
    *ALL_LAYERS,
    hint="Attention has no sense of order: what should happen when the tokens change places?",
)
def test_the_order_of_the_tokens_attended_to_does_not_matter(layer: Layer) -> None:
    """When keys and values change places together, their weights move with them and the output stays."""
    trial = layer.trial()
    order = layer.draw.permutation(trial.sizes.seq_k)
    shuffled = [x[:, order] if place in layer.memory else x for place, x in enumerate(trial.inputs)]
    before, after = answers((trial, None), (trial.with_inputs(*shuffled), None))
    trial.shaped(before)
    weights, output = before.weights[..., order], before.output
    if 0 in layer.memory:  # the queries moved as well
        weights, output = weights[..., order, :], output[:, order]
    assert_close(after.weights, weights, "the attention weights after the tokens changed places")
    assert_close(after.output, output, "the output after the tokens changed places")


@aspect("parity", "multi_head_attention", hint="Which weights belong to head 1, and which to its neighbours?")
def test_heads_do_not_meet_before_the_last_projection(layer: Layer) -> None:
    """Changing the queries of one head changes that head's weights and no other's."""
    trial = layer.trial()
    before = trial.weights()
    width = trial.sizes.d_k
    w_q = trial.parameters["W_Q.weight"].clone()
    w_q[width : 2 * width] = layer.draw.normal(width, trial.sizes.d_model)
    after = trial.with_parameters(W_Q=w_q).weights()
    assert_close(after[:, [0, 2]], before[:, [0, 2]], "the weights of the heads left alone")
    if torch.allclose(after[:, 1], before[:, 1], atol=1e-4):
        raise WrongAnswer("the weights of the head whose queries were changed stayed what they were.")


@aspect(
    "parity",
    "multi_head_attention",
    hint="Query, key and value are three arguments. Does each of them reach its own projection?",
)
@pytest.mark.parametrize("same", ["none", "query is key", "key is value", "all"])
def test_query_key_and_value_each_play_their_part(layer: Layer, same: str) -> None:
    """Whichever of query, key and value are the same tensor, the formula holds."""
    trial = layer.trial(layer.fit(seq_q=6, seq_k=6))
    query, key, value = trial.inputs
    shared = {
        "none": (query, key, value),
        "query is key": (query, query, value),
        "key is value": (query, key, key),
        "all": (query, query, query),
    }
    trial = trial.with_inputs(*shared[same])
    assert_attention_close(trial.run(), trial.expected())
