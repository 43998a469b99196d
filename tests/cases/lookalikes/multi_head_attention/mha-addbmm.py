# per sample, addbmm joins the heads and applies the last projection in one step
# exercises: split_heads, multi_head_attention

import math

import torch
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

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.d_k)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ v
        by_head = self.W_O.weight.T.reshape(self.num_heads, self.d_k, self.d_model)
        nothing = query.new_zeros(query.shape[1:])
        return torch.stack([torch.addbmm(nothing, sample, by_head) for sample in heads]), weights
