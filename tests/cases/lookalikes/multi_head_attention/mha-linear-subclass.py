# projections are a subclass of nn.Linear that splits heads, with xavier_uniform_
# exercises: split_heads, multi_head_attention

import math

from torch import nn


class Projection(nn.Linear):
    def __init__(self, d_model):
        super().__init__(d_model, d_model, bias=False)
        nn.init.xavier_uniform_(self.weight, gain=1 / math.sqrt(2))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.d_k, rest = divmod(d_model, num_heads)
        if rest or self.d_k == 0:
            raise AssertionError(f"{d_model} features for {num_heads} heads leave {rest} over")
        self.num_heads = num_heads
        self.W_Q = Projection(d_model)
        self.W_K = Projection(d_model)
        self.W_V = Projection(d_model)
        self.W_O = Projection(d_model)
        self.attn_dropout = nn.Dropout(p=dropout)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = [
            self.split_heads(projection(x), x.shape[0])
            for projection, x in zip((self.W_Q, self.W_K, self.W_V), (query, key, value), strict=True)
        ]
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return self.W_O((self.attn_dropout(weights) @ v).transpose(1, 2).flatten(2)), weights
