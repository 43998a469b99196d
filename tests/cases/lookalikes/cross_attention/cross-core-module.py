# the attention itself is a module without parameters

import math

import torch
from torch import nn


class ScaledDotProductAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, queries, keys, values, mask=None):
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(self.width)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e10)
        weights = torch.softmax(scores, dim=2)
        return torch.bmm(weights, values), weights


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        d_k = d_model if d_k is None else d_k
        self.attention = ScaledDotProductAttention(d_k)
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.W_K = nn.Linear(d_model, d_k, bias=False)
        self.W_V = nn.Linear(d_model, d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        keys, values = self.W_K(key_value_input), self.W_V(key_value_input)
        return self.attention(self.W_Q(query_input), keys, values, mask)
