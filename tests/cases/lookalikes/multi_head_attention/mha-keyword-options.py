# extra keyword-only options with defaults in the constructor and in forward
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1, *, causal=False, scale=None):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.causal = causal
        self.scale = scale if scale is not None else 1 / math.sqrt(self.d_k)
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x, batch_size=None):
        batch_size = x.size(0) if batch_size is None else batch_size
        return x.reshape(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None, *, average_weights=False):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ k.transpose(-2, -1) * self.scale
        if self.causal:
            ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
            scores = scores.masked_fill(ahead, -math.inf)
        if mask is not None:
            scores = scores.masked_fill((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        output = self.W_O((self.dropout(weights) @ v).transpose(1, 2).flatten(2))
        return output, weights.mean(dim=1) if average_weights else weights
