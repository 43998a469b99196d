# functional dropout with self.training
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.n_heads = num_heads
        self.head_dim = d_model // num_heads
        self.dropout_p = dropout
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, x.size(1), self.n_heads, self.head_dim).permute(0, 2, 1, 3).contiguous()

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        context = torch.matmul(F.dropout(weights, p=self.dropout_p, training=self.training), v)
        context = context.permute(0, 2, 1, 3).contiguous().view(batch_size, -1, self.n_heads * self.head_dim)
        return self.W_O(context), weights
