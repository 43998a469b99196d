# sizes, probability, inputs and mask are checked first, with errors of its own
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.1) -> None:
        if d_model <= 0 or num_heads <= 0:
            raise ValueError("d_model and num_heads must be positive")
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"dropout must lie between 0 and 1, got {dropout}")
        super().__init__()
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x: torch.Tensor, batch_size: int) -> torch.Tensor:
        if x.dim() != 3 or x.size(0) != batch_size or x.size(2) != self.d_model:
            raise ValueError(f"expected ({batch_size}, seq_len, {self.d_model}), got {tuple(x.shape)}")
        return x.unflatten(2, (self.num_heads, self.d_k)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        for name, x in (("query", query), ("key", key), ("value", value)):
            if not isinstance(x, torch.Tensor):
                raise TypeError(f"{name} must be a tensor, got {type(x).__name__}")
            if x.dim() != 3 or x.size(2) != self.d_model:
                raise ValueError(f"{name} must be (batch, seq_len, {self.d_model}), got {tuple(x.shape)}")
        if key.shape != value.shape:
            raise ValueError(f"key {tuple(key.shape)} and value {tuple(value.shape)} must agree")
        if query.size(0) != key.size(0):
            raise ValueError(f"query has {query.size(0)} samples, key {key.size(0)}")
        batch, wanted = query.size(0), (query.size(0), self.num_heads, query.size(1), key.size(1))
        if mask is not None:
            if mask.dim() not in (2, 3, 4):
                raise ValueError(f"mask must have 2, 3 or 4 axes, got {tuple(mask.shape)}")
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            if torch.broadcast_shapes(mask.shape, wanted) != wanted:
                raise ValueError(f"mask {tuple(mask.shape)} does not broadcast to {wanted}")
        q = self.split_heads(self.W_Q(query), batch)
        k = self.split_heads(self.W_K(key), batch)
        v = self.split_heads(self.W_V(value), batch)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        heads = self.dropout(weights) @ v
        return self.W_O(heads.transpose(1, 2).flatten(2)), weights
