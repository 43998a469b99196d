# query, key and value are laid side by side and meet one block-diagonal matrix
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
        return torch.stack(torch.split(x, self.d_k, dim=2), dim=1)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        both = torch.block_diag(self.W_K.weight, self.W_V.weight)  # (2 d_model, 2 d_model)
        memory = torch.cat([key, value], dim=-1) @ both.T
        k, v = (self.split_heads(x, batch_size) for x in memory.tensor_split(2, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill((mask.unsqueeze(-3) if mask.dim() == 3 else mask) == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        heads = self.dropout(weights) @ v
        return self.W_O(torch.cat(heads.unbind(1), dim=-1)), weights
