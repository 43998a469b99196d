# a decorator around forward makes every mask a 3-D bool one

import functools
import math

import torch
from torch import nn


def with_full_mask(forward):
    """Give forward a bool mask (batch, seq_q, seq_k), whatever it was called with."""

    @functools.wraps(forward)
    def wrapped(self, query_input, key_value_input, mask=None):
        shape = (query_input.size(0), query_input.size(1), key_value_input.size(1))
        if mask is None:
            mask = torch.ones((), dtype=torch.bool, device=query_input.device)
        return forward(self, query_input, key_value_input, (mask != 0).expand(shape))

    return wrapped


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    @with_full_mask
    def forward(self, query_input, key_value_input, mask):
        q = self.W_Q(query_input)
        k, v = self.W_K(key_value_input), self.W_V(key_value_input)
        scores = (q @ k.transpose(-2, -1) / math.sqrt(self.d_k)).masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)
        return weights @ v, weights
