"""What is promised besides the numbers: parameters, arguments left alone, types kept, independence."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.candidate.faults import StudentError
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import masks
from tests.support.checks import (
    as_attention,
    assert_attention_close,
    assert_close,
    assert_equal,
    assert_shape,
)
from tests.support.layers import ALL_LAYERS, Layer, answers


@aspect(
    "contract",
    *ALL_LAYERS,
    multi_head_attention=2,
    hint="Print the names and shapes of your layer's parameters. Which are missing, and which are too many?",
)
def test_the_parameters_are_the_promised_ones(layer: Layer) -> None:
    """The layer's parameters are its projections, one matrix each, without bias, and nothing else."""
    found = layer.build().parameters()
    promised = layer.parameter_shapes(layer.sizes)
    for name, shape in promised.items():
        if name not in found:
            raise WrongAnswer(f"there is no parameter {name}; those there are: {', '.join(found) or 'none'}.")
        assert_shape(found[name], shape, f"the parameter {name}", "out x in")
    extra = sorted(set(found) - set(promised))
    if extra:
        raise WrongAnswer(f"there are parameters that were not asked for: {', '.join(extra)}.")


@aspect(
    "contract",
    *ALL_LAYERS,
    hint="Build two layers. Do they share a matrix? Does one of them use the same matrix twice?",
)
def test_every_projection_has_a_matrix_of_its_own(layer: Layer) -> None:
    """Each projection keeps its own matrix, within a layer and between two layers."""
    first = layer.trial()
    layer.trial()
    for name, value in first.model.parameters().items():
        if name in first.parameters:
            assert_equal(value, first.parameters[name], f"{name}, after other matrices were set,")


@aspect("contract", "multi_head_attention", hint="How wide would each head be with 10 features and 3 heads?")
@pytest.mark.parametrize(("d_model", "heads"), [(10, 3), (12, 5), (4, 8)])
def test_features_that_cannot_be_shared_out_are_refused(layer: Layer, d_model: int, heads: int) -> None:
    """A d_model that num_heads does not divide is refused with an AssertionError or a ValueError."""
    layer.candidate.build(layer.class_name, *layer.arguments(layer.sizes))
    try:
        layer.candidate.build(layer.class_name, d_model, heads)
    except StudentError as error:
        if error.kind in ("AssertionError", "ValueError"):
            return
        raise
    raise WrongAnswer(f"{layer.class_name}({d_model}, {heads}) was built without complaint.")


@aspect("contract", *ALL_LAYERS, hint="Which of your lines write into a tensor that belongs to the caller?")
@pytest.mark.parametrize(("form", "dtype"), masks.ACCEPTED[:3])
def test_inputs_and_mask_are_left_alone(layer: Layer, form: str, dtype: str) -> None:
    """After a call the caller's inputs and mask are what they were."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, form, trial.sizes, dtype)
    seen = trial.model.watch("forward", *trial.inputs, mask=mask)
    for name, before, after in zip(layer.input_names, trial.inputs, seen.args, strict=True):
        assert_equal(after, before, f"the input {name}, after the call,")
    assert_equal(seen.kwargs["mask"], mask, "the mask, after the call,")
    as_attention(seen.value)


@aspect(
    "contract",
    *ALL_LAYERS,
    hint="Which of your tensors did not come from the inputs, and which dtype were they born with?",
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_the_dtype_of_the_input_is_kept(layer: Layer, dtype: torch.dtype) -> None:
    """Output and weights have the dtype of the input: float64, float32, bfloat16 or float16."""
    trial = layer.trial(dtype=dtype)
    # many right layers fill with -1e9, which float16 cannot hold: it is tried without a mask
    mask = None if dtype is torch.float16 else masks.drawn(layer.draw, "query x key", trial.sizes)
    found = trial.run(mask)
    for name, part in zip(found._fields, found, strict=True):
        if part.dtype is not dtype:
            raise WrongAnswer(f"the {name} came back as {part.dtype}, the input was {dtype}.")
    masked = {} if mask is None else {"mask": mask}
    usual = as_attention(trial.model.to(dtype=torch.float32)(*(x.float() for x in trial.inputs), **masked))
    coarse, fine = (usual, found) if dtype is torch.float64 else (found, usual)
    assert_close(coarse.output, fine.output, "the output in the coarser of the two dtypes")


@aspect("contract", *ALL_LAYERS, hint="Does your layer remember anything from one call to the next?")
def test_calls_do_not_remember_one_another(layer: Layer) -> None:
    """A call's answer does not depend on the calls before it: other inputs, other masks, other sizes."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "batch x query x key", trial.sizes)
    moved = trial.resized(layer.fit(batch=3, seq_q=4, seq_k=6))
    alike = trial.resized(trial.sizes)
    asked = [(trial, mask), (trial, None), (moved, None), (alike, None), (trial, mask)]
    fresh = [(replace(call.twin(), inputs=call.inputs), after) for call, after in asked]
    for found, alone in zip(answers(*asked), answers(*fresh), strict=True):
        assert_attention_close(found, alone)


@aspect("contract", *ALL_LAYERS, hint="What does the signature's return type promise?")
def test_forward_returns_a_pair(layer: Layer) -> None:
    """forward returns a tuple of two: the output, then the attention weights."""
    trial = layer.trial()
    value = trial.model(*trial.inputs)
    as_attention(value)
    if not isinstance(value, tuple):
        raise WrongAnswer(f"forward returned a {type(value).__name__}, it must return a tuple.")


@aspect(
    "contract",
    *ALL_LAYERS,
    weight=0.5,
    hint="Compare the names of your constructor's arguments with those you were given.",
)
def test_the_constructor_takes_its_arguments_by_name(layer: Layer) -> None:
    """The layer can be built with its arguments by name."""
    by_place = layer.build().parameters()
    named = dict(zip(layer.argument_names, layer.arguments(layer.sizes), strict=True))
    by_name = layer.candidate.build(layer.class_name, **named).parameters()
    for name, parameter in by_place.items():
        if name not in by_name:
            raise WrongAnswer(f"built by name, the layer has no parameter {name}.")
        assert_shape(by_name[name], tuple(parameter.shape), f"the parameter {name}")


@aspect(
    "contract",
    *ALL_LAYERS,
    weight=0.5,
    hint="Compare the names of your arguments with the signature you were given.",
)
def test_arguments_can_be_given_by_name_or_by_place(layer: Layer) -> None:
    """Inputs and mask can be passed by the names in the signature, or in its order."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "query x key", trial.sizes)
    names = dict(zip(layer.input_names, trial.inputs, strict=True))
    by_name = (trial.model, (), {**names, "mask": mask})
    by_place = (trial.model, (*trial.inputs, mask), {})
    usual = (trial.model, trial.inputs, {"mask": mask})
    *found, wanted = map(as_attention, layer.candidate.batch_call([by_name, by_place, usual]))
    for answer in found:
        assert_attention_close(answer, wanted)


@aspect("contract", *ALL_LAYERS, hint="Which line of your forward is the attention itself?")
def test_attention_is_built_from_its_parts(layer: Layer) -> None:
    """Attention is built from products and a softmax; the library's own attention is refused here."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "query x key", trial.sizes)
    answers((trial, None), (trial, mask))
