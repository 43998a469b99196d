# keys that a padding mask blocks for all are left out, and their weights filled in as zeros

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
        batch, asking, answering = query_input.size(0), query_input.size(1), key_value_input.size(1)
        if mask is None:
            mask = query_input.new_ones(asking, answering)
        allowed = mask.bool().expand(batch, asking, answering)
        used = allowed.flatten(0, 1).any(0).nonzero().flatten()
        memory = key_value_input.index_select(1, used)
        scores = self.W_Q(query_input) @ self.W_K(memory).transpose(1, 2) / math.sqrt(self.d_k)
        shares = scores.masked_fill(~allowed.index_select(2, used), -math.inf).softmax(dim=-1)
        weights = torch.zeros_like(allowed, dtype=shares.dtype).index_copy(2, used, shares)
        return shares @ self.W_V(memory), weights
