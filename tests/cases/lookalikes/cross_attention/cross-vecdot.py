# scores by linalg.vecdot, output by tensordot over one sample at a time

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
        q, k = self.W_Q(query_input), self.W_K(key_value_input)
        scores = torch.linalg.vecdot(q.unsqueeze(2), k.unsqueeze(1)) * (1.0 / self.d_k) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(torch.logical_not(mask), float("-inf"))
        weights = scores.softmax(-1)
        values = self.W_V(key_value_input)
        return torch.stack(
            [torch.tensordot(w, v, dims=1) for w, v in zip(weights, values, strict=True)]
        ), weights
