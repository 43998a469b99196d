# the attention, with its dropout, is a module without parameters
# exercises: split_heads, multi_head_attention

import torch
from torch import nn


class ScaledDotProduct(nn.Module):
    def __init__(self, d_k, p):
        super().__init__()
        self.temperature = d_k**0.5
        self.dropout = nn.Dropout(p)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(torch.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


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
        self.attention = ScaledDotProduct(self.d_k, dropout)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # for head axis broadcasting
        heads, attn = self.attention(q, k, v, mask=mask)
        return self.W_O(heads.transpose(1, 2).contiguous().view(batch_size, query.size(1), -1)), attn
