# the scale is put into the query projection's weight for the product

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    @property
    def scale(self):
        return 1 / self.d_k**0.5

    def forward(self, x, mask=None):
        q = F.linear(x, self.W_Q.weight * self.scale)
        k, v = F.linear(x, self.W_K.weight), F.linear(x, self.W_V.weight)
        scores = torch.einsum("...qd,...kd->...qk", q, k)
        if mask is not None:
            scores = scores.masked_fill(~(mask != 0), float("-inf"))
        weights = F.softmax(scores, -1)
        return torch.einsum("...qk,...kd->...qd", weights, v), weights
