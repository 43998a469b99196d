"""Layers whose scores are known numbers: far from zero, and exact in float32."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .layers import Layer, Sizes, Trial

WIDTH = 16  # its root is 4 and its fourth root 2: every way to scale by it is exact


def steep(layer: Layer, offsets: Sequence[float]) -> Trial:
    """A trial in which the scaled scores of query i are ``offsets[i]`` plus ordinary numbers.

    Feature 0 of a query carries its offset and feature 1 of a key a one; W_Q and W_K let them
    meet, and everything is a multiple of 1/4, so that no rounding can be blamed.
    """
    sizes = layer.fit(d_k=WIDTH, d_model=WIDTH)
    trial = layer.trial(sizes)
    heads = sizes.d_model // WIDTH
    keep = torch.ones(WIDTH)
    keep[1] = 0.0
    meet = torch.diag(keep)
    meet[0, 0], meet[0, 1] = 0.0, 1.0
    blocks = {"W_Q": torch.diag(keep), "W_K": meet}
    each = torch.eye(heads)
    values = trial.parameters["W_V.weight"].clone()
    values[:, ::WIDTH] = 0.0  # the offsets are for the scores alone
    matrices = {name: torch.kron(each, block) for name, block in blocks.items()}
    trial = trial.with_parameters(**matrices, W_V=values)
    return trial.with_inputs(*(_features(layer, sizes, offsets, x) for x in trial.inputs))


def _features(layer: Layer, sizes: Sizes, offsets: Sequence[float], like: Tensor) -> Tensor:
    x = layer.draw.quarters(*like.shape).reshape(*like.shape[:2], -1, WIDTH)
    if like.shape[1] == len(offsets):
        x[..., 0] = torch.tensor(offsets, dtype=x.dtype)[None, :, None] * 4  # undone by the scaling
    x[..., 1] = 1.0
    return x.reshape(like.shape)
