# chunks of queries, recomputed in the backward pass

import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


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
            mask = torch.ones(q.size(1), k.size(1), device=q.device)
        masks = mask.expand(q.size(0), q.size(1), k.size(1)).split(2, dim=1)
        parts = [
            checkpoint(self.attend, part, k, v, mask, use_reentrant=False)
            for part, mask in zip(q.split(2, dim=1), masks, strict=True)
        ]
        return torch.cat([output for output, _ in parts], 1), torch.cat([weights for _, weights in parts], 1)

    def attend(self, q, k, v, mask):
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        weights = scores.masked_fill(mask == 0, -math.inf).softmax(dim=-1)
        return weights @ v, weights
