"""Attention weights of no particular layer, for what is done with them afterwards."""

from __future__ import annotations

import torch
from torch import Tensor

from .drawing import Draw


def drawn(draw: Draw, batch: int, heads: int, length: int) -> Tensor:
    """Weights (batch, heads, length, length) of ordinary unevenness, float32; each row adds up to 1."""
    return draw.normal(batch, heads, length, length, scale=1.5).softmax(-1).float()


def pure(pattern: str, length: int) -> Tensor:
    """Weights (length, length) of a head that follows one pattern of head_patterns as far as it goes."""
    if pattern == "diagonal":
        return torch.eye(length)
    columns = torch.arange(length).sub(1).clamp(min=0) if pattern == "previous_token" else [0] * length
    return torch.eye(length)[columns]
