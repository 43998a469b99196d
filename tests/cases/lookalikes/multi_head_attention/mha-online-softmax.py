# online softmax over blocks of keys, dropout on each block's shares
# exercises: split_heads, multi_head_attention

import math

import torch
from torch import nn

BLOCK = 16


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
        q = q / math.sqrt(self.d_k)
        shape = (batch_size, self.num_heads, query.size(1), key.size(1))
        if mask is None:
            allowed = torch.ones(shape, dtype=torch.bool, device=q.device)
        else:
            allowed = (mask if mask.dim() != 3 else mask.unsqueeze(1)).ne(0).expand(shape)
        lowest = torch.finfo(q.dtype).min
        highest = q.new_full((*shape[:3], 1), lowest)
        total = torch.zeros_like(highest)
        mixed = torch.zeros_like(q)
        for start in range(0, shape[3], BLOCK):
            block = slice(start, start + BLOCK)
            scores = (q @ k[:, :, block].mT).masked_fill(~allowed[..., block], lowest)
            risen = torch.maximum(highest, scores.amax(-1, keepdim=True).detach())
            shares = (scores - risen).exp().masked_fill(~allowed[..., block], 0.0)
            shrink = (highest - risen).exp()
            total = total * shrink + shares.sum(-1, keepdim=True)
            mixed = mixed * shrink + self.dropout(shares) @ v[:, :, block]
            highest = risen
        total = total.masked_fill(total == 0, 1.0)
        weights = (q @ k.mT - highest).masked_fill(~allowed, -math.inf).exp() / total
        heads = (mixed / total).transpose(1, 2).reshape(query.shape)
        return self.W_O(heads), weights
