# a small rearrange function of its own, in a second file, splits and joins the heads
# exercises: split_heads, multi_head_attention

import math

from rearranging import rearrange
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x, batch_size):
        return rearrange(x, "b s (h d) -> b h s d", h=self.num_heads)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ rearrange(k, "b h s d -> b h d s") / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return self.W_O(rearrange(self.dropout(weights) @ v, "b h s d -> b s (h d)")), weights
