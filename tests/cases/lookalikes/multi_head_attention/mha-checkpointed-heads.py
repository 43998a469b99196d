# a loop over heads, each recomputed in the backward pass
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


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
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        masks = [None] * self.num_heads
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            masks = mask.expand(batch_size, self.num_heads, query.size(1), key.size(1)).unbind(1)
        parts = [
            checkpoint(self.attend, *head, use_reentrant=False)
            for head in zip(q.unbind(1), k.unbind(1), v.unbind(1), masks, strict=True)
        ]
        heads, weights = zip(*parts, strict=True)
        return self.W_O(torch.cat(heads, dim=-1)), torch.stack(weights, dim=1)

    def attend(self, q, k, v, mask):
        scores = q @ k.transpose(1, 2) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return self.dropout(weights) @ v, weights
