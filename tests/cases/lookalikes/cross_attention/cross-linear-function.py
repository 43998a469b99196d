# F.linear on the weights, no d_k is kept

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        sizes = {"in_features": d_model, "out_features": d_model if d_k is None else d_k, "bias": False}
        self.W_Q, self.W_K, self.W_V = nn.Linear(**sizes), nn.Linear(**sizes), nn.Linear(**sizes)

    def forward(self, query_input, key_value_input, mask=None):
        q = F.linear(query_input, self.W_Q.weight)
        k, v = (F.linear(key_value_input, layer.weight) for layer in (self.W_K, self.W_V))
        scores = torch.matmul(q, k.permute(0, 2, 1)) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(torch.eq(mask, 0), float("-inf"))
        weights = F.softmax(scores, dim=2)
        return torch.matmul(weights, v), weights
