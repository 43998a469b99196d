# the scores are made as keys times queries, normalised over the keys and turned

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
        q, k, v = self.W_Q(query_input), self.W_K(key_value_input), self.W_V(key_value_input)
        scores = k @ q.transpose(-2, -1) / math.sqrt(self.d_k)  # (batch, key, query)
        if mask is not None:
            scores = scores.masked_fill((mask == 0).transpose(-2, -1), -math.inf)
        shares = scores.softmax(dim=-2)
        output = v.transpose(-2, -1) @ shares  # (batch, d_k, query)
        return output.transpose(-2, -1), shares.transpose(-2, -1)
