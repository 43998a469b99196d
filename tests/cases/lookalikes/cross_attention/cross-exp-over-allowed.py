# the softmax written out: exp minus the largest allowed score, times the mask, divided by the sum

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
        q, k, v = self.W_Q(query_input), self.W_K(key_value_input), self.W_V(key_value_input)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        allowed = torch.ones_like(scores) if mask is None else (mask != 0).to(scores.dtype)
        lowered = scores - scores.masked_fill(allowed == 0, -math.inf).amax(dim=-1, keepdim=True)
        # a blocked score may lie far above the allowed ones, and exp must not overflow there
        shares = lowered.clamp(max=0).exp() * allowed
        weights = shares / shares.sum(dim=-1, keepdim=True)
        return weights @ v, weights
