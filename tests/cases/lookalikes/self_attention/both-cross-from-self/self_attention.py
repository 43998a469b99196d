# cross-attention is built on self-attention's class, which takes a memory as a further option
# exercises: self_attention, cross_attention

import math

from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None, memory=None):
        memory = x if memory is None else memory
        q, k, v = self.W_Q(x), self.W_K(memory), self.W_V(memory)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return weights @ v, weights
