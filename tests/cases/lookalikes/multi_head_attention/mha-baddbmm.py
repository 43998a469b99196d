# heads folded into the batch, scores by baddbmm with beta 0 into an uninitialised buffer
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
        return x.reshape(batch_size, -1, self.num_heads, self.d_k).permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None):
        batch_size, asking, answering = query.size(0), query.size(1), key.size(1)
        q, k, v = (
            self.split_heads(project(x), batch_size).flatten(0, 1)
            for project, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
        )
        empty = torch.empty(q.size(0), asking, answering, dtype=q.dtype, device=q.device)
        scores = torch.baddbmm(empty, q, k.transpose(1, 2), beta=0, alpha=self.d_k**-0.5)
        scores = scores.view(batch_size, self.num_heads, asking, answering)
        if mask is not None:
            scores = scores.masked_fill((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, float("-inf"))
        weights = scores.softmax(dim=-1)
        heads = torch.bmm(self.dropout(weights).flatten(0, 1), v)
        heads = heads.view(batch_size, self.num_heads, asking, self.d_k).permute(0, 2, 1, 3)
        return self.W_O(heads.reshape(batch_size, asking, self.d_model)), weights
