"""Dropout acts on the attention weights, in train mode only, with the probability asked for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support.checks import as_attention, assert_close, assert_equal
from tests.support.dropped_weights import Links
from tests.support.layers import Layer, answers


@aspect("dropout", "multi_head_attention", hint="Who tells your dropout whether the layer is training?")
def test_eval_mode_drops_nothing(layer: Layer) -> None:
    """In eval mode nothing is dropped: every call gives the answer of a layer without dropout."""
    trial = layer.trial(dropout=0.5)
    without = trial.twin(dropout=0.0)
    first, second, usual = answers((trial, None), (trial, None), (without, None))
    assert_equal(second.output, first.output, "the output of the second call")
    assert_close(first.output, usual.output, "the output")


@aspect("dropout", "multi_head_attention", hint="What does a probability of 0.0 mean for your dropout?")
def test_probability_zero_drops_nothing(layer: Layer) -> None:
    """With dropout=0.0 train mode gives the same answer as eval mode."""
    trial = layer.trial(dropout=0.0)
    in_eval = trial.output()
    trial.model.train()
    assert_close(trial.output(), in_eval, "the output in train mode")


@aspect(
    "dropout", "multi_head_attention", hint="If every link between tokens is cut, what is left of the output?"
)
def test_probability_one_drops_everything(layer: Layer) -> None:
    """With dropout=1.0 in train mode no value gets through: the output is 0."""
    trial = layer.trial(dropout=1.0)
    trial.model.train()
    assert_close(trial.output(), torch.zeros(layer.output_shape(trial.sizes)), "the output")


@aspect(
    "dropout",
    "multi_head_attention",
    weight=0.5,
    hint="Do whole rows, whole columns or whole heads go together?",
)
def test_each_link_is_dropped_on_its_own(layer: Layer) -> None:
    """Whether a link is dropped depends neither on its query alone nor on its key alone."""
    links = Links(layer, 0.5)
    dropped = links.effective()[0].abs() < links.weights / 2
    for axis, name in ((2, "queries"), (3, "keys")):
        if bool((dropped == dropped.narrow(axis, 0, 1)).all()):
            raise WrongAnswer(f"with dropout=0.5 the same links are dropped for all {name}.")


@aspect(
    "dropout",
    "multi_head_attention",
    weight=1.5,
    hint="What is it that gets dropped: a link between two tokens, or a feature? And what of the rest?",
)
@pytest.mark.parametrize("probability", [0.25, 0.6])
def test_whole_links_are_dropped_and_the_rest_is_scaled_up(layer: Layer, probability: float) -> None:
    """A link between two tokens is dropped whole; one that stays grows by 1/(1-p), so the mean is kept."""
    links = Links(layer, probability)
    first, second = links.effective()
    assert_close(second, first, "what the second half of the features saw of the weights")
    kept = links.weights / (1 - probability)
    dropped = first.abs() < kept / 2
    assert_close(
        torch.where(dropped, torch.zeros_like(first), first),
        torch.where(dropped, 0.0, kept),
        "the weights in use",
    )


@aspect("dropout", "multi_head_attention", hint="How large a share of the links is gone in train mode?")
@pytest.mark.parametrize("probability", [None, 0.3, 0.8], ids=["default 0.1", "0.3", "0.8"])
def test_the_share_of_dropped_links_is_the_probability(layer: Layer, probability: float | None) -> None:
    """Over many links, the share that is dropped is the probability asked for (0.1 unless said)."""
    links = Links(layer, probability, batch=40)
    shares = links.effective()[0].abs() < links.weights / 2
    expected = 0.1 if probability is None else probability
    bound = 6 * (expected * (1 - expected) / shares.numel()) ** 0.5  # six standard deviations
    share = float(shares.double().mean())
    if abs(share - expected) > bound:
        raise WrongAnswer(
            f"{share:.1%} of {shares.numel()} links were dropped, it should be close to {expected:.0%}."
        )


@aspect(
    "dropout",
    "multi_head_attention",
    hint="Is the draw a new one in every call, also after eval and train again?",
)
def test_train_mode_differs_from_call_to_call(layer: Layer) -> None:
    """In train mode each call drops other links, also when train follows eval."""
    trial = layer.trial(layer.fit(batch=4), dropout=0.5)
    trial.run()
    trial.model.train()
    first, second = answers((trial, None), (trial, None))
    if torch.equal(first.output, second.output):
        raise WrongAnswer("two calls in train mode with dropout=0.5 gave the same output.")


@aspect(
    "dropout",
    "multi_head_attention",
    hint="Which weights do you hand back: those before dropout, or those in use?",
)
def test_returned_weights_are_those_before_or_after_dropout(layer: Layer) -> None:
    """In train mode the returned weights are those before dropout, or exactly those in use."""
    links = Links(layer, 0.4)
    in_use = links.effective()[0]
    returned = as_attention(links.value).weights
    if not (_near(returned, links.weights) or _near(returned, in_use)):
        raise WrongAnswer(
            "the returned weights are neither those before dropout nor those that mixed the values."
        )


def _near(found: Tensor, expected: Tensor) -> bool:
    alike = found.shape == expected.shape
    return alike and bool(torch.allclose(found.double(), expected.double(), atol=1e-4, rtol=1e-3))
