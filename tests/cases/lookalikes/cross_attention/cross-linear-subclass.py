# the projections are a subclass of nn.Linear with its own initialisation

import math

from torch import nn


class Projection(nn.Linear):
    """A linear map without bias."""

    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out, bias=False)

    def reset_parameters(self):
        nn.init.orthogonal_(self.weight)

    def extra_repr(self):
        return f"{self.in_features} -> {self.out_features}"


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.width = d_model if d_k is None else d_k
        self.W_Q = Projection(d_model, self.width)
        self.W_K = Projection(d_model, self.width)
        self.W_V = Projection(d_model, self.width)

    def forward(self, query_input, key_value_input, mask=None):
        scores = self.W_Q(query_input) @ self.W_K(key_value_input).transpose(-2, -1) / math.sqrt(self.width)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return weights @ self.W_V(key_value_input), weights
