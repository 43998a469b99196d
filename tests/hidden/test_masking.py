"""The mask rule: 0 (or False) blocks, anything else may be seen, in every accepted form."""

from __future__ import annotations

import pytest
import torch

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import masks
from tests.support.checks import assert_attention_close, assert_close, assert_equal
from tests.support.extreme_scores import steep
from tests.support.layers import ALL_LAYERS, Layer, answers

# changes to the usual sizes, and the forms of mask that they put to the test
MASKED = {
    "one sample": ({"batch": 1}, "batch x query x key"),
    "as many samples as heads": ({"batch": 3}, "batch x query x key"),
    "as many samples as tokens": ({"batch": 5}, "query x key"),
    "other lengths": ({"batch": 3, "seq_q": 4, "seq_k": 6}, "batch x query x key"),
}


@aspect(
    "masking",
    *ALL_LAYERS,
    weight=2,
    hint="What shape does your mask have when it meets the scores, and what does each of its axes mean?",
)
@pytest.mark.parametrize(("form", "dtype"), masks.ACCEPTED)
def test_a_mask_of_any_accepted_form(layer: Layer, form: str, dtype: str) -> None:
    """Masks of bool, int or float, for one sentence or a batch, all follow the mask rule."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, form, trial.sizes, dtype)
    masked, free = trial.weights_with_and_without(mask)
    assert_close(masked, masks.applied(free, mask), "the attention weights")


@aspect(
    "masking",
    "multi_head_attention",
    weight=2,
    hint="A 4-D mask already has an axis for the heads. Which axes do you add to it, or take away?",
)
@pytest.mark.parametrize("form", masks.FORMS_4D)
def test_a_mask_with_an_axis_for_heads(layer: Layer, form: str) -> None:
    """Four-dimensional masks that broadcast to (batch, num_heads, seq_q, seq_k) follow the mask rule."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, form, trial.sizes, "int")
    masked, free = trial.weights_with_and_without(mask)
    assert_close(masked, masks.applied(free, mask), "the attention weights")


@aspect(
    "masking",
    *ALL_LAYERS,
    hint="Does your mask meet the same axis of the scores when two sizes are equal? When one of them is 1?",
)
@pytest.mark.parametrize("size", MASKED)
def test_a_mask_at_other_sizes(layer: Layer, size: str) -> None:
    """A mask means the same at other lengths, for one sample, and when two sizes are equal."""
    changes, form = MASKED[size]
    trial = layer.trial(layer.fit(**changes))
    mask = masks.drawn(layer.draw, form, trial.sizes, "bool")
    masked, free = trial.weights_with_and_without(mask)
    assert_close(masked, masks.applied(free, mask), "the attention weights")


@aspect(
    "masking",
    *ALL_LAYERS,
    multi_head_attention=2,
    hint="Under a causal mask, which tokens can the first query see? And the last one?",
)
def test_a_causal_mask(layer: Layer) -> None:
    """Under a lower-triangular mask each token sees itself and what came before."""
    trial = layer.trial()
    mask = masks.causal(trial.sizes)
    masked, free = trial.weights_with_and_without(mask)
    assert_close(masked, masks.applied(free, mask), "the attention weights")


@aspect(
    "masking",
    *ALL_LAYERS,
    multi_head_attention=2,
    hint="How far below the allowed scores is a blocked one, when the allowed ones are very low themselves?",
)
@pytest.mark.parametrize("low", [0, -20_000])
def test_blocked_weights_are_exactly_zero_however_low_the_scores(layer: Layer, low: int) -> None:
    """A blocked weight is exactly 0, even when every allowed score is very negative."""
    trial = steep(layer, [low] * layer.sizes.seq_q)
    mask = masks.drawn(layer.draw, "query x key", trial.sizes)
    found, free = trial.weights_with_and_without(mask)
    blocked = (mask == 0).expand(found.shape)
    assert_equal(found, found.masked_fill(blocked, 0.0), "the attention weights", rows=blocked)
    # the larger the scores, the fewer digits are left for the rest
    slack = 1000 if low < -1000 else 10
    assert_close(found, masks.applied(free, mask), "the attention weights", slack=slack)


@aspect("masking", *ALL_LAYERS, hint="By which paths can a blocked token still reach the output?")
@pytest.mark.parametrize("scale", [3.0, 1000.0], ids=["another token", "a very loud token"])
def test_a_blocked_token_cannot_change_anything(layer: Layer, scale: float) -> None:
    """When a token that nobody may see is replaced by another, no output moves."""
    trial = layer.trial()
    hidden = trial.sizes.seq_k - 1
    mask = masks.drawn(layer.draw, "query x key", trial.sizes)
    mask[:, hidden], mask[:, 0] = False, True
    moved = [x.clone() for x in trial.inputs]
    for place in layer.memory:
        moved[place][:, hidden] = layer.draw.normal(*moved[place][:, hidden].shape, scale=scale)
    before, after = answers((trial, mask), (trial.with_inputs(*moved), mask))
    # in self-attention the replaced token asks, too: its own row may move
    seen = torch.arange(trial.sizes.seq_q) != (hidden if 0 in layer.memory else -1)
    assert_attention_close(after, trial.shaped(before), rows=seen.expand(trial.sizes.batch, -1))


@aspect("masking", *ALL_LAYERS, hint="What should a mask that allows everything change?")
def test_a_mask_of_ones_is_no_mask(layer: Layer) -> None:
    """A mask that allows everything gives the answer of no mask at all."""
    trial = layer.trial()
    ones = torch.ones(trial.sizes.batch, trial.sizes.seq_q, trial.sizes.seq_k)
    assert_attention_close(*answers((trial, ones), (trial, None)))


@aspect("masking", *ALL_LAYERS, hint="If only one token may be seen, how is a weight of 1.0 shared out?")
def test_a_single_allowed_key_gets_all_the_weight(layer: Layer) -> None:
    """A query that may see one key gives it a weight of 1."""
    trial = layer.trial()
    chosen = torch.tensor([layer.draw.integer(0, trial.sizes.seq_k - 1) for _ in range(trial.sizes.seq_q)])
    mask = torch.nn.functional.one_hot(chosen, trial.sizes.seq_k)
    found = trial.weights(mask)
    assert_close(found, mask.expand(found.shape), "the attention weights")


@aspect("masking", *ALL_LAYERS, hint="Which of your lines mixes one row of the scores with another?")
def test_a_query_that_may_see_nothing_harms_no_other(layer: Layer) -> None:
    """A query whose every key is blocked has no answer; all other queries keep theirs."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "batch x query x key", trial.sizes)
    mask[0, 1] = False
    seeing = mask.clone()
    seeing[0, 1] = True  # the same for all other queries
    found, usual = answers((trial, mask), (trial, seeing))
    assert_attention_close(trial.shaped(found), usual, rows=mask.any(-1))
    output, weights = found.output[0, 1], found.weights[0, ..., 1, :]
    if bool(weights.isnan().any()) and bool(output.isfinite().all()):
        raise WrongAnswer(
            "for a query that may see nothing the weights are NaN, but the output is an ordinary number."
        )


@aspect(
    "masking",
    *ALL_LAYERS,
    hint="The rule says what 0 means, and what everything else means. Does your code ask that very question?",
)
@pytest.mark.parametrize("dtype", ["int", "float"])
def test_anything_but_zero_may_be_seen(layer: Layer, dtype: str) -> None:
    """A mask value of 2, -1 or 0.5 allows a position just as 1 does."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "query x key", trial.sizes, dtype)
    values = torch.tensor([2.0, -1.0, 3.0] if dtype == "int" else [2.0, -1.0, 0.5]).to(mask.dtype)
    mask = mask * values[torch.arange(mask.numel()).reshape(mask.shape) % 3]
    masked, free = trial.weights_with_and_without(mask)
    assert_close(masked, masks.applied(free, mask), "the attention weights")
