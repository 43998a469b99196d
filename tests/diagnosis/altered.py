"""Altered questions for the library: attention from other sources, projections, scales and splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tests.support.layers import Trial

CLOSE = 2e-5  # right float32 answers differ by 2e-7, the altered ones compared here by far more


def same(found: Tensor, expected: Tensor, tolerance: float = CLOSE) -> bool:
    """Equal in shape, and in value up to rounding, NaN nowhere."""
    if found.shape != expected.shape:
        return False
    difference = (found.double() - expected.double()).abs()
    return bool((difference <= tolerance * (1 + expected.double().abs())).all())


@dataclass(frozen=True)
class Made:
    """Queries, keys or values made in one way: from which input, with which matrix, in which manner."""

    tensor: Tensor  # (batch, seq, width)
    source: str
    matrix: str  # a projection's name, or "" for none
    manner: str  # "usual", "transposed", "cut off" (negatives), "none"

    @property
    def ways_off(self) -> int:
        """How unusual the manner is by itself."""
        return int(self.manner != "usual")


def projected(trial: Trial) -> list[Made]:
    """Every way to make queries, keys or values from this trial's inputs and matrices."""
    ways: list[Made] = []
    for source, x in zip(trial.layer.input_names, trial.inputs, strict=True):
        x = x.double()
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            weight = trial.parameters.get(f"{name}.weight")
            if weight is None:
                continue
            weight = weight.double()
            made = F.linear(x, weight)
            ways.append(Made(made, source, name, "usual"))
            ways.append(Made(made.relu(), source, name, "cut off"))
            if weight.shape[0] == weight.shape[1]:
                ways.append(Made(x @ weight, source, name, "transposed"))
        ways.append(Made(x, source, "", "none"))
    return ways


def split_usual(x: Tensor, heads: int) -> Tensor:
    return x.reshape(*x.shape[:-1], heads, -1).movedim(2, 1)


def split_unmoved(x: Tensor, heads: int) -> Tensor:
    """The numbers as they lie, cut into heads: tokens and features get mixed."""
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def split_interleaved(x: Tensor, heads: int) -> Tensor:
    """Every heads-th feature to the same head."""
    return x.reshape(*x.shape[:-1], -1, heads).movedim(-1, 1)


SPLITS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "usual": split_usual,
    "unmoved": split_unmoved,
    "interleaved": split_interleaved,
}


def shares(trial: Trial, q: Tensor, k: Tensor, split: str = "usual", scale: float | None = None) -> Tensor:
    """The library's weights for these queries and keys, shaped as the layer returns them."""
    headed = trial.layer.weights_shape(trial.sizes)
    if len(headed) == 4:
        cut = SPLITS[split]
        q, k = cut(q, trial.sizes.heads), cut(k, trial.sizes.heads)
    identity = torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(q, k, identity, scale=scale)


def scores(trial: Trial, q: Tensor, k: Tensor) -> Tensor:
    """Raw dot products, shaped as the weights are."""
    if len(trial.layer.weights_shape(trial.sizes)) == 4:
        q, k = split_usual(q, trial.sizes.heads), split_usual(k, trial.sizes.heads)
    return torch.einsum("...qd,...kd->...qk", q, k)


def pairs(trial: Trial, ways: list[Made]) -> Iterator[tuple[Made, Made]]:
    """Ways for queries and keys that fit the weights' shape, the least unusual first."""
    sizes = trial.sizes
    queries = [w for w in ways if w.tensor.shape[1] == sizes.seq_q]
    keys = [w for w in ways if w.tensor.shape[1] == sizes.seq_k]
    names = usual_sources(trial)

    def unusual(pair: tuple[Made, Made]) -> int:
        q, k = pair
        return (
            2 * (q.ways_off + k.ways_off)
            + (q.matrix != "W_Q")
            + (k.matrix != "W_K")
            + (q.source != names[0])
            + (k.source != names[1])
        )

    fitting = [(q, k) for q in queries for k in keys if q.tensor.shape[-1] == k.tensor.shape[-1]]
    yield from sorted(fitting, key=unusual)


def usual_sources(trial: Trial) -> tuple[str, str, str]:
    """Which input queries, keys and values are meant to come from."""
    names = trial.layer.input_names
    return (names[0], names[min(1, len(names) - 1)], names[-1])


def usual(trial: Trial) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values as they are meant to be made."""
    places = dict(zip(trial.layer.input_names, trial.inputs, strict=True))
    made = [
        F.linear(places[source].double(), trial.parameters[f"{name}.weight"].double())
        for source, name in zip(usual_sources(trial), ("W_Q", "W_K", "W_V"), strict=True)
    ]
    return made[0], made[1], made[2]
