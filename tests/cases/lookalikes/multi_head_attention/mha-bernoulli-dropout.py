# dropout as a module of its own that multiplies by a Bernoulli draw
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


class LinkDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.keep = 1 - p

    def forward(self, weights):
        if not self.training or self.keep == 1:
            return weights
        kept = torch.bernoulli(torch.full_like(weights, self.keep))
        return weights * kept / max(self.keep, 1e-6)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.link_dropout = LinkDropout(dropout)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = self.link_dropout(scores.softmax(dim=-1))
        return self.W_O((weights @ v).transpose(1, 2).flatten(2)), weights
