# queries are answered in chunks of 32 tokens
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn

CHUNK = 32


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
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            mask = mask.expand(batch_size, self.num_heads, query.size(1), key.size(1))
        outputs, weights = [], []
        for start in range(0, query.size(1), CHUNK):
            rows = slice(start, start + CHUNK)
            scores = q[:, :, rows] @ k.transpose(-2, -1) / math.sqrt(self.d_k)
            if mask is not None:
                scores = scores.masked_fill(mask[:, :, rows] == 0, -math.inf)
            weights.append(scores.softmax(dim=-1))
            outputs.append(self.dropout(weights[-1]) @ v)
        heads = torch.cat(outputs, dim=2)
        return self.W_O(heads.transpose(1, 2).flatten(-2)), torch.cat(weights, dim=2)
