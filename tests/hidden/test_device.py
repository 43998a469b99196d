"""On the accelerator: the candidate's own CPU answer again, and everything stays where the input is.

Only the move is examined: an answer that is wrong on the CPU may be wrong here in the same way.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from grader.candidate.accelerator import ACCELERATOR, Accelerator
from grader.candidate.interface import Call, Model
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import masks
from tests.support.checks import as_attention, assert_attention_close, assert_close
from tests.support.layers import ALL_LAYERS, Layer, MultiHeadAttentionLayer, Trial
from tests.support.oracle import Attention

pytestmark = pytest.mark.gpu

MASKS = {"no mask": None, "query x key": "bool", "batch x query x key": "float"}


def drawn(layer: Layer, form: str) -> Tensor | None:
    dtype = MASKS[form]
    return None if dtype is None else masks.drawn(layer.draw, form, layer.sizes, dtype)


def watched(trial: Trial, accelerator: Accelerator, mask: Tensor | None = None) -> Attention:
    """The answer of a model that was moved, which must have stayed where the model is."""
    keywords = {} if mask is None else {"mask": mask}
    return as_attention(stayed(trial.model.watch("forward", *trial.inputs, **keywords), accelerator))


def stayed(call: Call, accelerator: Accelerator) -> Any:
    """The value of a call on the accelerator. Raises WrongAnswer when part of it left the device."""
    elsewhere = [device for device in call.devices if not accelerator.holds(device)]
    if elsewhere:
        raise WrongAnswer(f"the input was on {accelerator.phrase}, the result is on {elsewhere[0]}.")
    return call.value


def moved(trial: Trial, **keywords: Any) -> Trial:
    """A model of the same weights on the accelerator, moved there after it was built."""
    twin = trial.twin(**keywords)
    twin.model.to(device=ACCELERATOR)
    return twin


@aspect(
    "device",
    *ALL_LAYERS,
    weight=0.5,
    multi_head_attention=1,
    hint="On which device was each of your tensors born?",
)
@pytest.mark.parametrize("form", ["batch x query x key"])
def test_the_answer_is_the_same_on_the_accelerator(layer: Layer, accelerator: Accelerator, form: str) -> None:
    """With layer, input and mask moved to an accelerator, the answer is the CPU's and stays there."""
    trial = layer.trial()
    mask = drawn(layer, form)
    expected = trial.run(mask)
    assert_attention_close(watched(moved(trial), accelerator, mask), expected)


@aspect(
    "device",
    *ALL_LAYERS,
    weight=0.5,
    hint="What does your layer remember from an earlier call, and where does that lie?",
)
def test_a_layer_that_was_used_can_be_moved(layer: Layer, accelerator: Accelerator) -> None:
    """A layer that has answered on the CPU answers on an accelerator after a move, and on the CPU again."""
    trial = layer.trial()
    mask = drawn(layer, "query x key")
    expected = trial.run(mask)
    trial.model.to(device=ACCELERATOR)
    assert_attention_close(watched(trial, accelerator, mask), expected)
    trial.model.to(device="cpu")
    assert_attention_close(trial.run(mask), expected)


@aspect(
    "device",
    *ALL_LAYERS,
    weight=0.5,
    hint="On a GPU 16 bits are the usual size of a number. Which of your tensors have another?",
)
def test_half_precision_on_the_accelerator(layer: Layer, accelerator: Accelerator) -> None:
    """In float16 or bfloat16 the answer on an accelerator is that of the CPU, in the same dtype."""
    dtype = (torch.float16, torch.bfloat16)[layer.draw.integer(0, 1)]
    trial = layer.trial(dtype=dtype)
    expected = trial.run()
    there = trial.twin()
    there.model.to(device=ACCELERATOR, dtype=dtype)
    found = watched(there, accelerator)
    for name, part, usual in zip(found._fields, found, expected, strict=True):
        assert_close(part.to(usual.dtype), usual, f"the {name}")
        if part.dtype is not usual.dtype:
            raise WrongAnswer(f"the {name} came back as {part.dtype}, on the CPU it is {usual.dtype}.")


@aspect(
    "device",
    *ALL_LAYERS,
    weight=0.5,
    multi_head_attention=1,
    hint="Which parameters move when the layer does? Can autograd follow every step on the way back?",
)
@pytest.mark.parametrize("form", ["batch x query x key"])
def test_gradients_on_the_accelerator(layer: Layer, accelerator: Accelerator, form: str) -> None:
    """On an accelerator every input and parameter gets the gradient that it gets on the CPU."""
    trial = layer.trial()
    mask = drawn(layer, form)
    cotangent = layer.draw.normal(*layer.output_shape(trial.sizes)).float()
    here, there = gradients(trial, cotangent, mask), gradients(moved(trial), cotangent, mask)
    for name, expected in here.items():
        found = there.get(name)
        if expected is None:
            continue
        if found is None:
            raise WrongAnswer(f"no gradient reaches {name}.")
        assert_close(found, expected, f"the gradient for {name}", slack=3)


def gradients(trial: Trial, cotangent: Tensor, mask: Tensor | None) -> dict[str, Tensor | None]:
    """The candidate's gradients, by the name of the input or parameter. Raises WrongAnswer without any."""
    found = trial.gradients(cotangent, mask)
    if found.inputs is None or found.parameters is None:
        raise WrongAnswer("the output does not have the shape that its gradient would have.")
    return dict(zip(trial.layer.input_names, found.inputs, strict=True)) | found.parameters


@aspect(
    "device",
    "multi_head_attention",
    hint="Where does your dropout draw its numbers, and who tells it whether the layer is training?",
)
def test_dropout_on_the_accelerator(layer: Layer, accelerator: Accelerator) -> None:
    """On an accelerator train mode drops links and eval mode drops none, as on the CPU."""
    trial = layer.trial()
    expected = trial.run()
    there = moved(trial, dropout=0.5)
    there.model.train()
    first, second = (watched(there, accelerator).output for _ in range(2))
    if torch.equal(first, second):
        raise WrongAnswer("two calls in train mode with dropout=0.5 gave the same output.")
    there.model.eval()
    assert_attention_close(watched(there, accelerator), expected)


@aspect("device", "split_heads", hint="Does splitting need any tensor besides its input?")
@pytest.mark.parametrize("heads", [1, 3])
def test_heads_are_split_on_the_accelerator(
    layer: MultiHeadAttentionLayer, accelerator: Accelerator, exercise: str, heads: int
) -> None:
    """On an accelerator split_heads gives the answer it gives on the CPU, and leaves it there."""
    sizes = layer.fit(heads=heads)
    x = layer.draw.normal(sizes.batch, sizes.seq_q, sizes.d_model).float()
    expected = layer.split(x, sizes)
    model: Model = layer.build(sizes).to(device=ACCELERATOR)
    found = stayed(model.watch("split_heads", x, x.shape[0]), accelerator)
    if not isinstance(found, Tensor):
        raise WrongAnswer(f"split_heads returned {type(found).__name__}, it must return one tensor.")
    assert_close(found, expected, "the result")
