# the queries are answered in chunks of three

import math

import torch
from torch import nn

CHUNK = 3


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        if mask is not None:
            mask = mask.expand(x.size(0), x.size(1), x.size(1))
        outputs, weights = [], []
        for start in range(0, x.size(1), CHUNK):
            rows = slice(start, start + CHUNK)
            scores = q[:, rows] @ k.mT / math.sqrt(self.d_k)
            if mask is not None:
                scores = scores.masked_fill(mask[:, rows] == 0, -math.inf)
            weights.append(scores.softmax(dim=-1))
            outputs.append(weights[-1] @ v)
        return torch.cat(outputs, dim=1), torch.cat(weights, dim=1)
