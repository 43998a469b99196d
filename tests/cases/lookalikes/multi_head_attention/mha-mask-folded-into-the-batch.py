# heads are folded into the batch, and the mask is repeated for each of them
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
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def folded(self, x):
        return self.split_heads(x, x.size(0)).reshape(-1, x.size(1), self.d_k)

    def folded_mask(self, mask, batch, asking, answering):
        if mask.dim() == 3:
            return torch.repeat_interleave(mask, self.num_heads, dim=0)  # sample 0 for all heads, then 1, ...
        if mask.dim() == 4:
            return mask.expand(batch, self.num_heads, asking, answering).flatten(0, 1)
        return mask

    def forward(self, query, key, value, mask=None):
        batch, asking, answering = query.size(0), query.size(1), key.size(1)
        q, k, v = self.folded(self.W_Q(query)), self.folded(self.W_K(key)), self.folded(self.W_V(value))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(self.folded_mask(mask, batch, asking, answering) == 0, -math.inf)
        weights = torch.softmax(scores, dim=2)
        heads = torch.bmm(self.dropout(weights), v).view(batch, self.num_heads, asking, self.d_k)
        joined = heads.transpose(1, 2).reshape(batch, asking, -1)
        return self.W_O(joined), weights.view(batch, self.num_heads, asking, answering)
