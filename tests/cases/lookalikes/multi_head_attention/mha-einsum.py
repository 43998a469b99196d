# einsum on the weights cut into heads, also for the last projection
# exercises: split_heads, multi_head_attention

import torch
from torch import einsum, nn


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
        return torch.einsum("bshd->bhsd", x.reshape(batch_size, x.size(1), self.num_heads, self.d_k))

    def forward(self, query, key, value, mask=None):
        by_head = (self.num_heads, self.d_k, self.d_model)
        q = einsum("bsm,hdm->bhsd", query, self.W_Q.weight.view(by_head))
        k = einsum("bsm,hdm->bhsd", key, self.W_K.weight.view(by_head))
        v = einsum("bsm,hdm->bhsd", value, self.W_V.weight.view(by_head))
        scores = einsum("bhid,bhjd->bhij", q, k) / self.d_k**0.5
        if mask is not None:
            mask = mask[:, None] if mask.ndim == 3 else mask
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        heads = einsum("bhij,bhjd->bihd", self.dropout(weights), v)
        out = self.W_O.weight.view(self.d_model, self.num_heads, self.d_k)
        return einsum("bihd,mhd->bim", heads, out), weights
