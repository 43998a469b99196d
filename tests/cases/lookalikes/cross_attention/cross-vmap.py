# one query of one sample is written out, two vmaps do the rest

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
        q = self.W_Q(query_input)
        k, v = self.W_K(key_value_input), self.W_V(key_value_input)
        if mask is None:
            mask = torch.ones(k.size(1), device=q.device)
        mask = mask.expand(q.size(0), q.size(1), k.size(1))
        over_queries = torch.func.vmap(self.attend, in_dims=(0, None, None, 0))
        return torch.func.vmap(over_queries)(q, k, v, mask)

    def attend(self, q, k, v, mask):
        """q (d_k), k and v (seq_k, d_k), mask (seq_k)."""
        shares = torch.where(mask != 0, k @ q / math.sqrt(self.d_k), -math.inf).softmax(0)
        return shares @ v, shares
