# the weights are exp(scores - logsumexp(scores)), the sum taken by logaddexp one key after another

import math
from functools import reduce

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
        scores = q @ k.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min / 2)
        whole = reduce(torch.logaddexp, scores.unbind(-1))
        weights = (scores - whole[..., None]).exp()
        return weights @ v, weights
