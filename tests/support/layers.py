"""The three layers in one vocabulary: build one, give it known weights, run it, ask the oracle.

A test names a property once and runs on every layer that has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grader.candidate.interface import Candidate, Gradients, Model
from grader.examination.verdicts import WrongAnswer

from . import oracle
from .checks import as_attention, assert_shape
from .drawing import Draw
from .oracle import Attention


@dataclass(frozen=True)
class Sizes:
    """All different unless a test is about their being equal: equal sizes hide mistakes."""

    batch: int = 2
    seq_q: int = 5
    seq_k: int = 7
    heads: int = 3
    d_k: int = 4
    d_model: int = 12


# changes to a layer's usual sizes that put an edge to the test
EDGES = {
    "one sample": {"batch": 1},
    "one token": {"seq_q": 1},
    "one key": {"seq_k": 1},
    "one head": {"heads": 1},
    "as many heads as samples": {"batch": 3, "heads": 3},
    "one sample and one head": {"batch": 1, "heads": 1},
    "as many samples as tokens": {"batch": 5},
    "as many keys as queries": {"seq_k": 5},
    "larger batch": {"batch": 4, "seq_q": 3, "seq_k": 6},
}


@dataclass(frozen=True)
class Trial:
    """A built layer with known weights and inputs, and the oracle for the same."""

    layer: Layer
    sizes: Sizes
    model: Model
    parameters: dict[str, Tensor]
    inputs: tuple[Tensor, ...]

    @property
    def dtype(self) -> torch.dtype:
        return self.inputs[0].dtype

    def run(self, mask: Tensor | None = None) -> Attention:
        """What the candidate returns. Raises WrongAnswer when that is not a pair of tensors."""
        return as_attention(self.model(*self.inputs, **_masked(mask)))

    def weights_with_and_without(self, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The candidate's weights under the mask and without one. Raises WrongAnswer as ``weights``."""
        masked, free = (found.weights for found in answers((self, mask), (self, None)))
        for weights in (masked, free):
            assert_shape(weights, self.layer.weights_shape(self.sizes), "the attention weights")
        return masked, free

    def weights(self, mask: Tensor | None = None) -> Tensor:
        """The candidate's attention weights, in the promised shape. Raises WrongAnswer otherwise."""
        found = self.run(mask).weights
        assert_shape(found, self.layer.weights_shape(self.sizes), "the attention weights")
        return found

    def output(self, mask: Tensor | None = None) -> Tensor:
        """The candidate's output, in the promised shape. Raises WrongAnswer otherwise."""
        found = self.run(mask).output
        assert_shape(found, self.layer.output_shape(self.sizes), "the output")
        return found

    def shaped(self, found: Attention) -> Attention:
        """``found``. Raises WrongAnswer unless it has the promised shapes."""
        assert_shape(found.output, self.layer.output_shape(self.sizes), "the output")
        assert_shape(found.weights, self.layer.weights_shape(self.sizes), "the attention weights")
        return found

    def expected(self, mask: Tensor | None = None) -> Attention:
        """What the oracle returns, float64."""
        exact = {name: weight.double() for name, weight in self.parameters.items()}
        return self.layer.oracle(tuple(x.double() for x in self.inputs), exact, self.sizes, mask)

    def gradients(self, cotangent: Tensor, mask: Tensor | None = None) -> Gradients:
        """The candidate's gradients of its output, weighted by ``cotangent``."""
        return self.model.gradients(*self.inputs, cotangents=[cotangent, None], **_masked(mask))

    def expected_gradients(self, cotangent: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        """The oracle's gradients, by the name of the input or parameter."""
        inputs = [x.double().requires_grad_() for x in self.inputs]
        exact = {name: weight.double().requires_grad_() for name, weight in self.parameters.items()}
        output = self.layer.oracle(tuple(inputs), exact, self.sizes, mask).output
        names = [*self.layer.input_names, *exact]
        found = torch.autograd.grad(output, [*inputs, *exact.values()], cotangent.double())
        return dict(zip(names, found, strict=True))

    def with_inputs(self, *inputs: Tensor) -> Trial:
        return replace(self, inputs=tuple(x.to(self.dtype) for x in inputs))

    def twin(self, **keywords: Any) -> Trial:
        """Another model with the same weights and inputs, built with other keywords."""
        model = self.layer.prepare(self.sizes, self.parameters, self.dtype, **keywords)
        return replace(self, model=model)

    def again(self) -> Trial:
        """The same weights and inputs in a model that has not been called yet."""
        return self.twin()

    def resized(self, sizes: Sizes) -> Trial:
        """The same model with inputs drawn for other sizes."""
        inputs = tuple(
            self.layer.draw.normal(*shape).to(self.dtype) for shape in self.layer.input_shapes(sizes)
        )
        return replace(self, sizes=sizes, inputs=inputs)

    def with_parameters(self, **changes: Tensor) -> Trial:
        """The same layer with other weights: ``W_Q=...``; they are loaded into the model."""
        changed = {f"{name}.weight": weight.to(self.dtype) for name, weight in changes.items()}
        self.model.load(changed)
        return replace(self, parameters={**self.parameters, **changed})


def answers(*asked: tuple[Trial, Tensor | None]) -> list[Attention]:
    """What the candidate returns to each trial and mask, one call after the other, asked at once.

    Raises WrongAnswer when one of them is not a pair of tensors.
    """
    calls = [(trial.model, trial.inputs, _masked(mask)) for trial, mask in asked]
    candidate = asked[0][0].layer.candidate
    return [as_attention(value) for value in candidate.batch_call(calls)]


def _masked(mask: Tensor | None) -> dict[str, Any]:
    return {} if mask is None else {"mask": mask}


class Layer(ABC):
    """One of the classes under test, with the candidate that should provide it."""

    class_name: str
    input_names: tuple[str, ...]
    memory: tuple[int, ...]  # which inputs are attended to, by place
    argument_names: tuple[str, ...] = ("d_model", "d_k")  # the constructor's
    projections: tuple[str, ...] = ("W_Q", "W_K", "W_V")
    sizes: Sizes

    def __init__(self, candidate: Candidate, draw: Draw) -> None:
        self.candidate = candidate
        self.draw = draw

    @abstractmethod
    def arguments(self, sizes: Sizes) -> tuple[Any, ...]:
        """The constructor's arguments, dropout aside."""

    @abstractmethod
    def input_shapes(self, sizes: Sizes) -> tuple[tuple[int, ...], ...]:
        """The shapes of forward's inputs."""

    @abstractmethod
    def parameter_shapes(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        """The shapes of the named parameters, (out, in) as nn.Linear keeps them."""

    @abstractmethod
    def output_shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape of forward's output."""

    @abstractmethod
    def weights_shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape of the attention weights."""

    @abstractmethod
    def oracle(
        self, inputs: tuple[Tensor, ...], parameters: dict[str, Tensor], sizes: Sizes, mask: Tensor | None
    ) -> Attention:
        """What PyTorch's own attention gives."""

    def fit(self, **changes: int) -> Sizes:
        """This layer's usual sizes with some of them changed."""
        return replace(self.sizes, **changes)

    def build(self, sizes: Sizes | None = None, **keywords: Any) -> Model:
        """A model of these sizes in eval mode, with the weights its constructor gave it, as of its
        first question."""
        return self.candidate.prepare(self.class_name, self.arguments(sizes or self.sizes), keywords, {})

    def prepare(
        self, sizes: Sizes, parameters: dict[str, Tensor], dtype: torch.dtype, **keywords: Any
    ) -> Model:
        """A model of these sizes and dtype in eval mode with these weights, as of its first question."""
        kind = None if dtype is torch.float32 else dtype
        return self.candidate.prepare(self.class_name, self.arguments(sizes), keywords, parameters, kind)

    def trial(self, sizes: Sizes | None = None, dtype: torch.dtype = torch.float32, **keywords: Any) -> Trial:
        """A model of these sizes with drawn weights loaded, and drawn inputs."""
        sizes = sizes or self.sizes
        # wide enough that the weights are far from uniform
        spread = 1.5 * sizes.d_model**-0.5
        shapes = self.parameter_shapes(sizes)
        parameters = {
            name: self.draw.normal(*shape, scale=spread).to(dtype) for name, shape in shapes.items()
        }
        model = self.prepare(sizes, parameters, dtype, **keywords)
        inputs = tuple(self.draw.normal(*shape).to(dtype) for shape in self.input_shapes(sizes))
        return Trial(self, sizes, model, parameters, inputs)


class _OneHead(Layer):
    def arguments(self, sizes: Sizes) -> tuple[Any, ...]:
        return (sizes.d_model, sizes.d_k)

    def parameter_shapes(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        return {f"{name}.weight": (sizes.d_k, sizes.d_model) for name in self.projections}

    def output_shape(self, sizes: Sizes) -> tuple[int, ...]:
        return (sizes.batch, sizes.seq_q, sizes.d_k)

    def weights_shape(self, sizes: Sizes) -> tuple[int, ...]:
        return (sizes.batch, sizes.seq_q, sizes.seq_k)


class SelfAttentionLayer(_OneHead):
    class_name = "SelfAttention"
    input_names = ("x",)
    memory = (0,)
    sizes = Sizes(seq_q=5, seq_k=5, d_model=6, heads=1)

    def fit(self, **changes: int) -> Sizes:
        length = changes.get("seq_q", changes.get("seq_k", self.sizes.seq_q))
        return super().fit(**{**changes, "seq_q": length, "seq_k": length})

    def input_shapes(self, sizes: Sizes) -> tuple[tuple[int, ...], ...]:
        return ((sizes.batch, sizes.seq_q, sizes.d_model),)

    def oracle(
        self, inputs: tuple[Tensor, ...], parameters: dict[str, Tensor], sizes: Sizes, mask: Tensor | None
    ) -> Attention:
        return oracle.single_head(inputs[0], inputs[0], parameters, mask)


class CrossAttentionLayer(_OneHead):
    class_name = "CrossAttention"
    input_names = ("query_input", "key_value_input")
    memory = (1,)
    sizes = Sizes(d_model=6, heads=1)

    def input_shapes(self, sizes: Sizes) -> tuple[tuple[int, ...], ...]:
        return ((sizes.batch, sizes.seq_q, sizes.d_model), (sizes.batch, sizes.seq_k, sizes.d_model))

    def oracle(
        self, inputs: tuple[Tensor, ...], parameters: dict[str, Tensor], sizes: Sizes, mask: Tensor | None
    ) -> Attention:
        return oracle.single_head(inputs[0], inputs[1], parameters, mask)


class MultiHeadAttentionLayer(Layer):
    class_name = "MultiHeadAttention"
    input_names = ("query", "key", "value")
    memory = (1, 2)
    argument_names = ("d_model", "num_heads")
    projections = ("W_Q", "W_K", "W_V", "W_O")
    sizes = Sizes()

    def fit(self, **changes: int) -> Sizes:
        sizes = super().fit(**changes)
        return replace(sizes, d_model=sizes.heads * sizes.d_k)

    def arguments(self, sizes: Sizes) -> tuple[Any, ...]:
        return (sizes.d_model, sizes.heads)

    def input_shapes(self, sizes: Sizes) -> tuple[tuple[int, ...], ...]:
        memory = (sizes.batch, sizes.seq_k, sizes.d_model)
        return ((sizes.batch, sizes.seq_q, sizes.d_model), memory, memory)

    def parameter_shapes(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        return {f"{name}.weight": (sizes.d_model, sizes.d_model) for name in self.projections}

    def output_shape(self, sizes: Sizes) -> tuple[int, ...]:
        return (sizes.batch, sizes.seq_q, sizes.d_model)

    def weights_shape(self, sizes: Sizes) -> tuple[int, ...]:
        return (sizes.batch, sizes.heads, sizes.seq_q, sizes.seq_k)

    def oracle(
        self, inputs: tuple[Tensor, ...], parameters: dict[str, Tensor], sizes: Sizes, mask: Tensor | None
    ) -> Attention:
        query, key, value = inputs
        return oracle.multi_head((query, key, value), parameters, sizes.heads, mask)

    def split(self, x: Tensor, sizes: Sizes) -> Tensor:
        """What the candidate's split_heads makes of x (batch, seq_len, d_model)."""
        found = self.build(sizes).call("split_heads", x, x.shape[0])
        if not isinstance(found, Tensor):
            raise WrongAnswer(f"split_heads returned {type(found).__name__}, it must return one tensor.")
        return found


LAYERS: dict[str, type[Layer]] = {
    "self_attention": SelfAttentionLayer,
    "cross_attention": CrossAttentionLayer,
    "multi_head_attention": MultiHeadAttentionLayer,
    "split_heads": MultiHeadAttentionLayer,
}
ALL_LAYERS = ("self_attention", "cross_attention", "multi_head_attention")  # the exercises that are a layer
