# each head sees the full width with the other heads' features set to zero
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        own = torch.eye(num_heads).repeat_interleave(self.d_k, dim=1)  # (num_heads, d_model)
        self.register_buffer("own", own[:, None, :], persistent=False)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.W_Q(query).unsqueeze(1) * self.own  # (batch, num_heads, seq_q, d_model)
        scores = q @ self.W_K(key).unsqueeze(1).transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        v = self.W_V(value).unsqueeze(1) * self.own
        return self.W_O((self.dropout(weights) @ v).sum(dim=1)), weights
