# blocked scores are the lowest finite number of their dtype

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
        queries, keys, values = self.W_Q(query_input), self.W_K(key_value_input), self.W_V(key_value_input)
        scores = torch.matmul(queries, keys.transpose(-1, -2)) / self.d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        attention_weights = torch.softmax(scores, dim=-1)
        output = torch.matmul(attention_weights, values)
        return output, attention_weights
