# heads are moved to the front of the batch by cat, and taken apart again
# exercises: split_heads, multi_head_attention

import math

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
        stacked = torch.cat(x.split(self.d_k, dim=2), dim=0)  # (num_heads * batch, seq_len, d_k)
        return stacked.view(self.num_heads, batch_size, -1, self.d_k).transpose(0, 1)

    def forward(self, query, key, value, mask=None):
        batch = query.size(0)
        q, k, v = (
            torch.cat(layer(x).split(self.d_k, dim=2))
            for layer, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
        )
        scores = q @ k.transpose(1, 2) / math.sqrt(self.d_k)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.repeat(self.num_heads, 1, 1)  # head 0 for all samples, then head 1, ...
            elif mask.dim() == 4:
                mask = mask.expand(batch, self.num_heads, -1, -1).transpose(0, 1).flatten(0, 1)
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        joined = torch.cat((self.dropout(weights) @ v).split(batch, dim=0), dim=2)
        return self.W_O(joined), torch.stack(weights.split(batch, dim=0), dim=1)
