# everything after the projections is computed in float64 and cast back

import math

from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        q = self.W_Q(query_input).double()
        k, v = self.W_K(key_value_input).double(), self.W_V(key_value_input).double()
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return (weights @ v).to(query_input.dtype), weights.to(query_input.dtype)
