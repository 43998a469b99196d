# heads are small objects that read their rows of the shared matrices
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


class Head:
    """One head: not a module, it owns no parameters and only looks at its owner's."""

    def __init__(self, number, d_k):
        self.number = number
        self.rows = slice(number * d_k, (number + 1) * d_k)
        self.scale = 1 / math.sqrt(d_k)

    def weights(self, owner, query, key, mask):
        q = query @ owner.W_Q.weight[self.rows].T
        k = key @ owner.W_K.weight[self.rows].T
        scores = q @ k.transpose(1, 2) * self.scale
        if mask is not None:
            if mask.dim() == 4:
                mask = mask.expand(-1, owner.num_heads, -1, -1)[:, self.number]
            scores = scores.masked_fill(mask == 0, -math.inf)
        return scores.softmax(-1)

    def values(self, owner, value):
        return value @ owner.W_V.weight[self.rows].T


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.heads = [Head(number, self.d_k) for number in range(num_heads)]

    def split_heads(self, x, batch_size):
        return torch.stack([x[..., head.rows] for head in self.heads], dim=1)

    def forward(self, query, key, value, mask=None):
        weights = [head.weights(self, query, key, mask) for head in self.heads]
        mixed = [
            self.dropout(w) @ head.values(self, value) for head, w in zip(self.heads, weights, strict=True)
        ]
        return self.W_O(torch.cat(mixed, dim=-1)), torch.stack(weights, dim=1)
