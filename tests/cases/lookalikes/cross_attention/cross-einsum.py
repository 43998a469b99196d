# every product is an einsum, the mask is expanded by one too

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
        q = torch.einsum("...d,kd->...k", query_input, self.W_Q.weight)
        k = torch.einsum("...d,kd->...k", key_value_input, self.W_K.weight)
        v = torch.einsum("...d,kd->...k", key_value_input, self.W_V.weight)
        scores = torch.einsum("bqc,bkc->bqk", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            scores = torch.where(mask == 0, torch.full_like(scores, -math.inf), scores)
        weights = scores.softmax(dim=-1)
        return torch.einsum("bqk,bkc->bqc", weights, v), weights
