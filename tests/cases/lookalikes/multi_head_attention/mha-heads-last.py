# scores are kept as (batch, query, key, head) and turned at the end
# exercises: split_heads, multi_head_attention

import math

import torch
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
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(2, (self.num_heads, self.d_k))  # (batch, seq, num_heads, d_k)
            for layer, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
        )
        scores = torch.einsum("bqhd,bkhd->bqkh", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask.permute(0, 2, 3, 1) if mask.dim() == 4 else mask.unsqueeze(-1)
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=2)
        heads = torch.einsum("bqkh,bkhd->bqhd", self.dropout(weights), v)
        return self.W_O(heads.flatten(2)), weights.permute(0, 3, 1, 2)
