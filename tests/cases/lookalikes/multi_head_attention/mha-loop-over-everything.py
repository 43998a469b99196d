# loops over samples, heads and queries
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
        result = x.new_empty(batch_size, self.num_heads, x.size(1), self.d_k)
        for head in range(self.num_heads):
            first = head * self.d_k
            result[:, head] = x[:, :, first : first + self.d_k]
        return result

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        allowed = torch.ones((), device=q.device) if mask is None else mask
        if allowed.dim() == 3:
            allowed = allowed.unsqueeze(1)
        allowed = (allowed != 0).expand(batch_size, self.num_heads, q.size(2), k.size(2))
        rows = []
        for b in range(batch_size):
            for h in range(self.num_heads):
                keys = k[b, h]
                for i in range(q.size(2)):
                    scores = keys @ q[b, h, i] / math.sqrt(self.d_k)
                    rows.append(scores.masked_fill(~allowed[b, h, i], -math.inf).softmax(0))
        weights = torch.stack(rows).view(allowed.shape)
        dropped = self.dropout(weights)
        outputs = []
        for b in range(batch_size):
            outputs.append(torch.cat([dropped[b, h] @ v[b, h] for h in range(self.num_heads)], dim=-1))
        return self.W_O(torch.stack(outputs)), weights
