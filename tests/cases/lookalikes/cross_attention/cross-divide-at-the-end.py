# exponentials are mixed first and divided by their sum at the end

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
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        with torch.no_grad():  # the softmax does not depend on what is subtracted
            highest = scores.max(dim=-1, keepdim=True)[0]
        exponentials = torch.exp(scores - highest)
        ones = v.new_ones(v.size(0), v.size(1), 1)
        mixed = exponentials @ torch.cat([v, ones], dim=-1)  # the last column is the sum
        return mixed[..., :-1] / mixed[..., -1:], exponentials / mixed[..., -1:]
