# the softmax written out over the allowed keys, zeros where there are none
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


def masked_softmax(scores, allowed):
    """Shares over the last axis; a row without an allowed key gets zeros."""
    lowest = torch.finfo(scores.dtype).min
    highest = torch.where(allowed, scores, lowest).max(dim=-1, keepdim=True).values
    shares = torch.where(allowed, torch.exp(torch.where(allowed, scores - highest, 0)), 0)
    return shares / shares.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


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
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        allowed = torch.ones_like(scores, dtype=torch.bool)
        if mask is not None:
            allowed = (mask.unsqueeze(1) if mask.dim() == 3 else mask) != 0
        weights = masked_softmax(scores, allowed)
        return self.W_O((self.dropout(weights) @ v).transpose(1, 2).flatten(2)), weights
