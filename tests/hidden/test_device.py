"""On the accelerator: the same answer, and everything stays where the input is."""

from __future__ import annotations

import pytest
import torch

from grader.examination.marks import aspect
from grader.examination.verdicts import NotRun, WrongAnswer
from tests.support import masks
from tests.support.checks import as_attention, both_agree
from tests.support.layers import Layer


@aspect(
    "device",
    self_attention=0,
    cross_attention=0,
    multi_head_attention=0,
    hint="On which device was each of your tensors born?",
)
@pytest.mark.gpu
@pytest.mark.parametrize("masked", [False, True], ids=["no mask", "masked"])
def test_the_layer_runs_on_the_accelerator(layer: Layer, masked: bool) -> None:
    """Moved to an accelerator, the layer gives the same answer there, and leaves it there."""
    if not torch.accelerator.is_available():
        raise NotRun("This machine has no accelerator (GPU) to try it on.")
    device = str(torch.accelerator.current_accelerator())
    trial = layer.trial()
    trial.model.to(device=device)
    mask = masks.drawn(layer.draw, "query x key", trial.sizes) if masked else None
    seen = trial.model.watch("forward", *trial.inputs, **({} if mask is None else {"mask": mask}))
    if any(not where.startswith(device) for where in seen.devices):
        raise WrongAnswer(f"the input was on {device}, the result is on {', '.join(seen.devices)}.")
    both_agree(as_attention(seen.value), trial.expected(mask))
