"""Comparisons that fail in words: shapes, the first bad index, the size of the error."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.candidate.values import Described, Opaque
from grader.examination.verdicts import WrongAnswer

from .oracle import Attention

# Right implementations differ by about 2e-7 in float32, the smallest common mistake by 3e-5.
# In float64 a softmax computed in float32 is still right.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-6, 1e-5),
    torch.float32: (1e-5, 1e-4),
    torch.float16: (2e-2, 2e-2),
    torch.bfloat16: (1e-1, 1e-1),
}


def as_tensor(value: Any, function: str) -> Tensor:
    """What the function of that name returned, as one tensor. Raises WrongAnswer for anything else."""
    if not isinstance(value, Tensor):
        raise WrongAnswer(f"{function} returned {kind_of(value)}, it must return one tensor.")
    return value


def as_attention(value: Any) -> Attention:
    """What forward returned, as a pair of tensors. Raises WrongAnswer for anything else."""
    if isinstance(value, Tensor):
        raise WrongAnswer(
            f"forward returned one tensor of shape {shape_text(value.shape)}, it must return a pair: "
            "(output, attention_weights)."
        )
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise WrongAnswer(
            f"forward returned {kind_of(value)}, it must return a pair: (output, attention_weights)."
        )
    for part, name in zip(value, Attention._fields, strict=True):
        if not isinstance(part, Tensor):
            raise WrongAnswer(f"the {name} that forward returned are {kind_of(part)}, they must be a tensor.")
        if not part.is_floating_point():
            raise WrongAnswer(
                f"the {name} that forward returned have dtype {part.dtype}, which holds no fractions."
            )
    return Attention(*value)


def assert_shape(found: Tensor, shape: tuple[int, ...], name: str, axes: str = "") -> None:
    """Raises WrongAnswer unless ``found`` has the shape; ``axes`` names its axes in words."""
    if tuple(found.shape) != tuple(shape):
        meaning = f" = ({axes})" if axes else ""
        raise WrongAnswer(
            f"{name} has shape {shape_text(found.shape)}, it must have {shape_text(shape)}{meaning}."
        )


def assert_close(
    found: Tensor, expected: Tensor, name: str, *, rows: Tensor | None = None, slack: float = 1
) -> None:
    """Raises WrongAnswer unless ``found`` equals ``expected`` within its dtype's tolerance.

    ``rows``, a bool tensor that broadcasts to the values, picks which of them are compared.
    ``slack`` widens the tolerance, where a right computation must lose digits.
    """
    assert_shape(found, tuple(expected.shape), name)
    absolute, relative = TOLERANCES.get(found.dtype, TOLERANCES[torch.float32])
    observed, wanted = found.double(), expected.double()
    near = (observed - wanted).abs() <= slack * (absolute + relative * wanted.abs())
    _raise_unless(near, rows, observed, wanted, name)


def assert_equal(found: Tensor, expected: Tensor, name: str, *, rows: Tensor | None = None) -> None:
    """Raises WrongAnswer unless ``found`` equals ``expected`` to the last bit."""
    assert_shape(found, tuple(expected.shape), name)
    observed, wanted = found.double(), expected.double()
    _raise_unless(observed == wanted, rows, observed, wanted, name)


def assert_attention_close(
    found: Attention, expected: Attention, *, rows: Tensor | None = None, slack: float = 1
) -> None:
    """Weights first, then the output: an error in the weights explains one in the output.

    ``rows`` (batch, seq_q) picks the queries that are compared; ``slack`` as in :func:`assert_close`.
    """
    heads = expected.weights.dim() == 4
    weight_rows = None if rows is None else (rows[:, None, :, None] if heads else rows[..., None])
    assert_shape(found.output, tuple(expected.output.shape), "the output")
    assert_close(found.weights, expected.weights, "the attention weights", rows=weight_rows, slack=slack)
    output_rows = None if rows is None else rows[..., None]
    assert_close(found.output, expected.output, "the output", rows=output_rows, slack=slack)


def _raise_unless(good: Tensor, rows: Tensor | None, observed: Tensor, wanted: Tensor, name: str) -> None:
    bad = ~good if rows is None else ~good & rows
    if not bool(bad.any()):
        return
    index = tuple(int(i) for i in bad.nonzero()[0])
    place = f"[{', '.join(map(str, index))}]" if index else ""
    value, target = float(observed[index]), float(wanted[index])
    share = f"{int(bad.sum())} of {bad.numel()} values are off"
    shape = f"shape {shape_text(observed.shape)}"
    if value != value:  # NaN
        raise WrongAnswer(f"{name}{place} is NaN, it must be {target:.6g} ({share}; {shape}).")
    worst = float((observed - wanted).abs()[bad].nan_to_num(nan=float("inf"), posinf=float("inf")).max())
    raise WrongAnswer(
        f"{name}{place} is {value:.6g}, it must be {target:.6g} "
        f"({share}, the largest error is {worst:.2g}; {shape})."
    )


def shape_text(shape: torch.Size | tuple[int, ...]) -> str:
    return f"({', '.join(str(int(size)) for size in shape)}{',' if len(shape) == 1 else ''})"


def kind_of(value: Any) -> str:
    """What a student would call the value: its type, and the shape of a tensor."""
    match value:
        case None:
            return "None"
        case Opaque() | Described():
            return f"an object of type {value.type_name}"
        case tuple() | list():
            return f"a {type(value).__name__} of {len(value)}"
        case Tensor():
            return f"a tensor of shape {shape_text(value.shape)}"
        case _:
            return f"a {type(value).__name__}"
