# everything is laid out (batch, features, tokens), the weights are turned at the end

import math

from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        columns, memory = query_input.transpose(1, 2), key_value_input.transpose(1, 2)
        q = self.W_Q.weight @ columns  # (batch, d_k, seq_q)
        k, v = self.W_K.weight @ memory, self.W_V.weight @ memory  # (batch, d_k, seq_k)
        scores = k.transpose(1, 2) @ q / math.sqrt(self.d_k)  # (batch, seq_k, seq_q)
        if mask is not None:
            scores = scores.masked_fill(mask.transpose(-1, -2) == 0, -math.inf)
        weights = scores.softmax(dim=1)
        return (v @ weights).transpose(1, 2), weights.transpose(1, 2)
