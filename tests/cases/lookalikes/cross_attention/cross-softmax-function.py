# the softmax is a torch.autograd.Function with a backward pass of its own

import math

import torch
from torch import nn


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        shares = (scores - scores.amax(-1, keepdim=True)).exp()
        shares = shares / shares.sum(-1, keepdim=True)
        ctx.save_for_backward(shares)
        return shares

    @staticmethod
    def backward(ctx, gradient):
        (shares,) = ctx.saved_tensors
        return shares * (gradient - (gradient * shares).sum(-1, keepdim=True))


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
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = Softmax.apply(scores)
        return weights @ v, weights
