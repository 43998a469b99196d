# weights by xavier_uniform_, made in a method of its own

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.key_dim = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.key_dim, bias=False)
        self.W_K = nn.Linear(d_model, self.key_dim, bias=False)
        self.W_V = nn.Linear(d_model, self.key_dim, bias=False)
        self._reset_parameters()

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, query_input, key_value_input, mask=None):
        q = self.W_Q(query_input)
        k = self.W_K(key_value_input)
        v = self.W_V(key_value_input)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.key_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, v), weights
