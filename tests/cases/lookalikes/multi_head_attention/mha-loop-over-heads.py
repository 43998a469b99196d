# a loop over heads, each with its own slice of every matrix
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
        return torch.stack([x[:, :, self.own(h)] for h in range(self.num_heads)], dim=1)

    def own(self, head):
        return slice(head * self.d_k, (head + 1) * self.d_k)

    def forward(self, query, key, value, mask=None):
        heads, weights = [], []
        for h in range(self.num_heads):
            q = F.linear(query, self.W_Q.weight[self.own(h)])
            k = F.linear(key, self.W_K.weight[self.own(h)])
            v = F.linear(value, self.W_V.weight[self.own(h)])
            scores = q @ k.transpose(1, 2) / math.sqrt(self.d_k)
            if mask is not None:
                of_head = mask
                if mask.dim() == 4:
                    of_head = mask[:, h if mask.size(1) > 1 else 0]
                scores = scores.masked_fill(of_head == 0, -math.inf)
            weights.append(scores.softmax(dim=-1))
            heads.append(self.dropout(weights[-1]) @ v)
        return self.W_O(torch.cat(heads, dim=-1)), torch.stack(weights, dim=1)
