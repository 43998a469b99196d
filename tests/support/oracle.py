"""What attention should give: asked of PyTorch's own implementation, in float64.

Never of the reference solutions, so that a mistake there cannot hide here.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


class Attention(NamedTuple):
    """What ``forward`` returns."""

    output: Tensor  # (batch, seq_q, width)
    weights: Tensor  # (batch, seq_q, seq_k) or (batch, num_heads, seq_q, seq_k)


def single_head(q_in: Tensor, kv_in: Tensor, parameters: dict[str, Tensor], mask: Tensor | None) -> Attention:
    """One head: queries from ``q_in`` (batch, seq_q, d_model), keys and values from ``kv_in``.

    ``parameters`` are ``W_Q.weight``, ``W_K.weight``, ``W_V.weight``, each (d_k, d_model).
    ``mask`` broadcasts to (batch, seq_q, seq_k); 0 blocks.
    """
    q, k, v = (
        F.linear(x, parameters[f"{name}.weight"])
        for x, name in ((q_in, "W_Q"), (kv_in, "W_K"), (kv_in, "W_V"))
    )
    allowed = None if mask is None else (mask != 0).expand(q.shape[0], q.shape[1], k.shape[1])
    # attending to the identity instead of to values gives the weights themselves
    identity = torch.eye(k.shape[1], dtype=q.dtype).expand(k.shape[0], -1, -1)
    weights = F.scaled_dot_product_attention(q, k, identity, attn_mask=allowed)
    return Attention(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed), weights)


def multi_head(
    inputs: tuple[Tensor, Tensor, Tensor], parameters: dict[str, Tensor], num_heads: int, mask: Tensor | None
) -> Attention:
    """``num_heads`` heads on (query, key, value), through what ``nn.MultiheadAttention`` calls.

    ``parameters`` are ``W_Q.weight`` to ``W_O.weight``, each (d_model, d_model). ``mask``
    broadcasts to (batch, num_heads, seq_q, seq_k), a 3-D one is shared by the heads; 0 blocks.
    """
    query, key, value = inputs
    batch, seq_q, d_model = query.shape
    projections = torch.cat([parameters[f"{name}.weight"] for name in ("W_Q", "W_K", "W_V")])
    blocked = None
    if mask is not None:
        mask = mask[:, None] if mask.dim() == 3 else mask
        blocked = (mask == 0).expand(batch, num_heads, seq_q, key.shape[1])
        blocked = blocked.reshape(batch * num_heads, seq_q, key.shape[1])
    output, weights = F.multi_head_attention_forward(
        query.transpose(0, 1),  # it wants (seq, batch, d_model)
        key.transpose(0, 1),
        value.transpose(0, 1),
        d_model,
        num_heads,
        in_proj_weight=projections,
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=parameters["W_O.weight"],
        out_proj_bias=None,
        attn_mask=blocked,
        need_weights=True,
        average_attn_weights=False,
    )
    assert weights is not None  # they were asked for
    return Attention(output.transpose(0, 1), weights)
