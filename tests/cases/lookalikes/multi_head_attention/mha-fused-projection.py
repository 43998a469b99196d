# where query, key and value are one tensor, one product over the named weights laid side by side
# exercises: split_heads, multi_head_attention

import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def projected(self, query, key, value):
        if query is key and key is value:
            together = torch.cat((self.W_Q.weight, self.W_K.weight, self.W_V.weight))
            return F.linear(query, together).chunk(3, dim=-1)
        if key is value:
            together = torch.cat((self.W_K.weight, self.W_V.weight))
            return self.W_Q(query), *F.linear(key, together).chunk(2, dim=-1)
        return self.W_Q(query), self.W_K(key), self.W_V(value)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q, k, v = (self.split_heads(x.contiguous(), batch_size) for x in self.projected(query, key, value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        heads = self.dropout(weights) @ v
        return self.W_O(heads.transpose(1, 2).flatten(2)), weights
