import math

from torch import nn


class GeneralAttention(nn.Module):
    def __init__(self, d_model, width, heads=1, dropout=0.0):
        super().__init__()
        self.heads, self.width = heads, width
        for name in ("W_Q", "W_K", "W_V"):
            setattr(self, name, nn.Linear(d_model, width, bias=False))
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x, batch_size):
        return x.reshape(batch_size, -1, self.heads, self.width // self.heads).transpose(1, 2)

    def attend(self, query, key, value, mask=None):
        batch_size = query.size(0)
        q = self.split_heads(self.W_Q(query), batch_size)
        k = self.split_heads(self.W_K(key), batch_size)
        v = self.split_heads(self.W_V(value), batch_size)
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(-1)
        return (self.dropout(weights) @ v).transpose(1, 2).flatten(2), weights
