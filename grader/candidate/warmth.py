"""Doing beforehand, once, what the first tensor operation of every process would do again."""

from __future__ import annotations

import gc

import torch
import torch.fx.experimental.symbolic_shapes
import torch.nn.functional as F  # noqa: N812 - the name the field uses
import torch.testing
from torch import nn


def warm_up() -> None:
    """Load and run what students' code commonly touches, on one thread.

    No backward pass: after one, a fork that differentiates is refused by autograd. One thread,
    because a fork does not inherit the threads of a pool it would then wait for.
    """
    torch.set_num_threads(1)
    with torch.no_grad():
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            x = torch.randn(2, 3, 8).to(dtype)
            layer = nn.Linear(8, 8, bias=False).to(dtype)
            q = layer(x).view(2, 3, 2, 4).transpose(1, 2)
            mask = torch.ones(3, 3).tril()
            scores = torch.einsum("bhqd,bhkd->bhqk", q, q).masked_fill(mask == 0, float("-inf"))
            weights = F.dropout(torch.softmax(scores, dim=-1), 0.5)
            torch.where(mask == 0, 0.0, weights).matmul(q).reshape(2, 3, 8)
        attention = nn.MultiheadAttention(8, 2, batch_first=True, bias=False)
        attention(x.float(), x.float(), x.float())
        F.scaled_dot_product_attention(q, q, q)
    gc.collect()
    gc.freeze()
