# a table of feature numbers picks each head's features
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0, "every head needs the same number of features"
        self.d_k = d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.drop = nn.Dropout(dropout)
        features = torch.arange(d_model).reshape(num_heads, self.d_k)
        self.register_buffer("features", features, persistent=False)

    def split_heads(self, x, batch_size):
        return x[:, :, self.features].swapaxes(1, 2)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        heads = (self.drop(weights) @ v).swapaxes(1, 2)
        joined = query.new_empty(query.shape)
        joined[:, :, self.features] = heads
        return self.W_O(joined), weights
