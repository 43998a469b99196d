# extra keyword-only options with defaults in the constructor and in forward

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None, *, temperature=1.0, fill=float("-inf")):
        super().__init__()
        self.d_k = d_k if d_k is not None else d_model
        self.temperature = temperature
        self.fill = fill
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None, *, bias=None):
        scores = torch.bmm(self.W_Q(query_input), self.W_K(key_value_input).transpose(1, 2)) / (
            math.sqrt(self.d_k) * self.temperature
        )
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(mask == 0, self.fill)
        weights = scores.softmax(dim=-1)
        return torch.bmm(weights, self.W_V(key_value_input)), weights
