# NaN in the rows of queries that see nothing is replaced by zeros

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        scores = self.W_Q(x) @ self.W_K(x).transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -torch.inf)
        weights = torch.nan_to_num(scores.softmax(dim=-1), nan=0.0)
        return weights @ self.W_V(x), weights
