"""Gradients of the output, for the inputs and every parameter, against the oracle's."""

from __future__ import annotations

import pytest
from torch import Tensor

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import masks
from tests.support.checks import as_attention, assert_close, assert_shape
from tests.support.layers import ALL_LAYERS, Layer, Trial


@aspect(
    "gradients",
    *ALL_LAYERS,
    weight=3,
    multi_head_attention=3.5,
    hint="Is every step between the parameters and the output one that autograd can follow back?",
)
@pytest.mark.parametrize(("batch", "masked"), [(2, False), (2, True)])
def test_gradients_reach_the_inputs_and_every_parameter(layer: Layer, masked: bool, batch: int) -> None:
    """A loss on the output sends the right gradient to every input and every parameter."""
    trial = layer.trial(layer.fit(batch=batch))
    mask = masks.drawn(layer.draw, "batch x query x key", trial.sizes, "int") if masked else None
    cotangent = layer.draw.normal(*layer.output_shape(trial.sizes)).float()
    _assert_gradients_close(trial, cotangent, mask)


@aspect(
    "gradients",
    "multi_head_attention",
    weight=0.5,
    hint="Which of your steps acts only while training? Does it write into a tensor that is still needed?",
)
def test_gradients_in_train_mode(layer: Layer) -> None:
    """In train mode, with so little dropout that nothing is dropped, the gradients are the same."""
    trial = layer.trial(dropout=1e-9)
    trial.model.train()
    _assert_gradients_close(trial, layer.draw.normal(*layer.output_shape(trial.sizes)).float(), None)


def _assert_gradients_close(trial: Trial, cotangent: Tensor, mask: Tensor | None) -> None:
    layer = trial.layer
    found = trial.gradients(cotangent, mask)
    assert_shape(as_attention(found.value).output, layer.output_shape(trial.sizes), "the output")
    reached = dict(zip(layer.input_names, found.inputs or [], strict=False)) | (found.parameters or {})
    for name, expected in trial.expected_gradients(cotangent, mask).items():
        gradient = reached.get(name)
        if gradient is None:
            raise WrongAnswer(f"no gradient reaches {name}.")
        assert_close(gradient, expected, f"the gradient for {name}", slack=3)
