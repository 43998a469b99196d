# the constructor takes more keywords, forward swallows more too

import math

from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None, *args, scale=None, **kwargs):
        super().__init__(*args, **kwargs)
        d_k = d_k or d_model
        self.scale = scale or 1 / math.sqrt(d_k)
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.W_K = nn.Linear(d_model, d_k, bias=False)
        self.W_V = nn.Linear(d_model, d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None, **unused):
        queries, keys, values = self.W_Q(query_input), self.W_K(key_value_input), self.W_V(key_value_input)
        scores = queries.mul(self.scale).bmm(keys.mT)
        scores = scores if mask is None else scores.masked_fill(mask == 0, float("-inf"))
        return (weights := scores.softmax(-1)).bmm(values), weights
