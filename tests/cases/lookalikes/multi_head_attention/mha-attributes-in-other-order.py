# the dropout and W_O are created first, the input projections in reverse
# exercises: split_heads, multi_head_attention

import math

from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert not d_model % num_heads, "the heads must share the features evenly"
        self.dropout = nn.Dropout(dropout)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.heads = num_heads

    def split_heads(self, x, batch_size):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None):
        batch = query.shape[0]
        v = self.split_heads(self.W_V(value), batch)
        k = self.split_heads(self.W_K(key), batch)
        q = self.split_heads(self.W_Q(query), batch)
        scores = q.matmul(k.transpose(-2, -1)).div(math.sqrt(q.shape[-1]))
        if mask is not None:
            scores.masked_fill_((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, -math.inf)
        weights = scores.softmax(-1)
        mixed = self.dropout(weights).matmul(v)
        return self.W_O(mixed.transpose(1, 2).reshape(query.shape)), weights
