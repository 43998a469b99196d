# the mask becomes an additive bias of the lowest finite number
# exercises: split_heads, multi_head_attention

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

    @staticmethod
    def extended(mask, dtype):
        """0 where a key may be seen, the lowest number where it may not."""
        while mask.dim() < 4:
            mask = mask.unsqueeze(1 if mask.dim() == 3 else 0)
        return (mask == 0).to(dtype) * torch.finfo(dtype).min

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ k.transpose(-1, -2) / self.d_k**0.5
        if mask is not None:
            scores = scores + self.extended(mask, scores.dtype)
        weights = nn.functional.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ v
        return self.W_O(heads.transpose(1, 2).flatten(2)), weights
