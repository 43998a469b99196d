# forward returns a named tuple, the sizes live in a dataclass
# exercises: split_heads, multi_head_attention

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn


class Attention(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


@dataclass
class Sizes:
    d_model: int
    num_heads: int

    def __post_init__(self):
        if self.d_model % self.num_heads != 0:
            raise ValueError(f"{self.d_model} features cannot be shared by {self.num_heads} heads")

    @property
    def d_k(self):
        return self.d_model // self.num_heads


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.1):
        super().__init__()
        self.sizes = Sizes(d_model, num_heads)
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x, batch_size):
        return x.reshape(batch_size, -1, self.sizes.num_heads, self.sizes.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.sizes.d_k)
        if mask is not None:
            scores = scores.masked_fill((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return Attention(self.W_O((self.dropout(weights) @ v).transpose(1, 2).flatten(2)), weights)
