# blocked scores are assigned by index into a tensor of its own

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
        k = self.W_K(key_value_input)
        scores = torch.matmul(q, k.transpose(-2, -1)) / self.d_k**0.5
        if mask is not None:
            mask = mask.expand(scores.shape).to(torch.bool)
            scores[~mask] = float("-inf")
        weights = torch.nn.functional.softmax(scores, dim=-1)
        return torch.matmul(weights, self.W_V(key_value_input)), weights
