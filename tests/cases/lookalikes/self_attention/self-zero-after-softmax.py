# blocked weights are set to zero once more after the softmax

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
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            blocked = mask.eq(0)
            scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1).masked_fill(blocked, 0.0)
        return weights @ v, weights
