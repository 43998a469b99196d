# every mask becomes a bool one of shape (batch, heads, seq_q, seq_k) first
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

    def full_mask(self, mask, batch_size, asking, answering):
        shape = (batch_size, self.num_heads, asking, answering)
        if mask is None:
            return torch.ones(shape, dtype=torch.bool, device=self.W_Q.weight.device)
        mask = mask.bool()
        while mask.dim() < 4:
            mask = mask.unsqueeze(-3)
        return mask.expand(shape)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        allowed = self.full_mask(mask, batch_size, query.size(1), key.size(1))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(self.d_k)).masked_fill(~allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        heads = self.dropout(weights) @ v
        return self.W_O(heads.transpose(1, 2).reshape(batch_size, -1, self.d_model)), weights
