# one head is written out, vmap does the others, each with its own dropout
# exercises: split_heads, multi_head_attention

import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads, self.d_k, self.p = num_heads, d_model // num_heads, dropout
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        shape = (batch_size, self.num_heads, query.size(1), key.size(1))
        mask = torch.ones((), device=query.device) if mask is None else mask
        mask = (mask[:, None] if mask.dim() == 3 else mask).expand(shape)
        one_head = torch.func.vmap(self.attend, in_dims=1, out_dims=1, randomness="different")
        heads, weights = one_head(q, k, v, mask)
        return self.W_O(heads.transpose(1, 2).flatten(2)), weights

    def attend(self, q, k, v, mask):
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_k)
        weights = torch.softmax(torch.where(mask == 0, -math.inf, scores), dim=-1)
        return torch.bmm(F.dropout(weights, self.p, self.training), v), weights
