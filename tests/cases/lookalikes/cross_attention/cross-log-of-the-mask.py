# the mask becomes an additive bias, the logarithm of 1 or 0

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
        scores = self.W_Q(query_input) @ self.W_K(key_value_input).transpose(-2, -1) * self.d_k**-0.5
        if mask is not None:
            scores = scores + torch.log(mask.bool().to(scores.dtype))  # 0 where seen, -inf where blocked
        weights = scores.softmax(-1)
        return weights @ self.W_V(key_value_input), weights
