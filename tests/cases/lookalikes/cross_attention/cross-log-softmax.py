# the weights are the exponential of log_softmax

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        q, k, v = self.W_Q(query_input), *(project(key_value_input) for project in (self.W_K, self.W_V))
        scores = torch.matmul(q, k.mT).mul(1 / math.sqrt(self.d_k))
        if mask is not None:
            scores = scores.clone()
            scores[(mask == 0).expand_as(scores)] = -math.inf
        weights = scores.log_softmax(dim=-1).exp()
        return torch.matmul(weights, v), weights
