# nn.MultiheadAttention is built inside and given the named weights
# exercises: split_heads, multi_head_attention
# refused: yes

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        # in a list, so that its parameters are not ours
        self.inner = [nn.MultiheadAttention(d_model, num_heads, dropout, bias=False, batch_first=True)]

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        inner = self.inner[0].train(self.training)
        weights = {
            "in_proj_weight": torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight]),
            "out_proj.weight": self.W_O.weight,
        }
        blocked = None
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            shape = (query.size(0), self.num_heads, query.size(1), key.size(1))
            blocked = (mask == 0).expand(shape).flatten(0, 1)
        options = {"attn_mask": blocked, "average_attn_weights": False}
        return torch.func.functional_call(inner, weights, (query, key, value), options)
