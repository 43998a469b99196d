# one sample is written out, vmap does the batch

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
        if mask is None:
            mask = x.new_ones(x.size(1), x.size(1))
        return torch.vmap(self.attend, in_dims=(0, 0 if mask.dim() == 3 else None))(x, mask)

    def attend(self, x, mask):
        """One sample: x (seq_len, d_model)."""
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        scores = (q @ k.T / math.sqrt(self.d_k)).masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(-1)
        return weights @ v, weights
