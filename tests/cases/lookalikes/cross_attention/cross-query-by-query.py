# a generator answers one query position at a time for the whole batch

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
        outputs, weights = zip(*self.answers(query_input, key_value_input, mask), strict=True)
        return torch.stack(outputs, dim=1), torch.stack(weights, dim=1)

    def answers(self, query_input, key_value_input, mask):
        """For each query position the output (batch, d_k) and its weights (batch, seq_k)."""
        k, v = self.W_K(key_value_input), self.W_V(key_value_input)
        for i, token in enumerate(query_input.unbind(1)):
            scores = (k @ self.W_Q(token).unsqueeze(-1)).squeeze(-1) / math.sqrt(self.d_k)
            if mask is not None:
                row = mask[..., min(i, mask.size(-2) - 1), :]  # a padding mask has one row for all
                scores = scores.masked_fill(row == 0, -math.inf)
            shares = scores.softmax(-1)
            yield (shares.unsqueeze(1) @ v).squeeze(1), shares
