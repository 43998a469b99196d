# online softmax over blocks of two keys, the weights made in a second pass

import math

import torch
from torch import nn

BLOCK = 2


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        batch, length, _ = x.shape
        allowed = x.new_ones(batch, length, length, dtype=torch.bool)
        if mask is not None:
            allowed = (mask != 0).expand(batch, length, length)
        lowest = torch.finfo(x.dtype).min
        highest = x.new_full((batch, length, 1), lowest)
        total = x.new_zeros(batch, length, 1)
        output = torch.zeros_like(v)
        for start in range(0, length, BLOCK):
            keys = slice(start, start + BLOCK)
            scores = self.scores(q, k[:, keys]).masked_fill(~allowed[..., keys], lowest)
            risen = torch.maximum(highest, scores.amax(-1, keepdim=True))
            shares = (scores - risen).exp() * allowed[..., keys]
            shrink = (highest - risen).exp()
            total = total * shrink + shares.sum(-1, keepdim=True)
            output = output * shrink + shares @ v[:, keys]
            highest = risen
        total = total.masked_fill(total == 0, 1)  # a query that sees nothing gets zeros
        scores = self.scores(q, k).masked_fill(~allowed, lowest)
        return output / total, (scores - highest).exp() * allowed / total

    def scores(self, q, k):
        return q @ k.transpose(1, 2) / math.sqrt(self.d_k)
