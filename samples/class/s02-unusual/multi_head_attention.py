import torch
from attention_core import allowed_positions, shares
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        super().__init__()
        self.heads = num_heads
        self.p = dropout
        for name in ("W_O", "W_V", "W_K", "W_Q"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def split_heads(self, x, batch_size):
        return torch.stack(x.chunk(self.heads, dim=-1), dim=1)

    def forward(self, query, key, value, mask=None):
        allowed = allowed_positions(mask)
        if allowed is not None and allowed.dim() == 3:
            allowed = allowed[:, None]
        q, k, v = (
            self.split_heads(project(x), x.size(0))
            for project, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
        )
        weights = shares(q @ k.mT / q.size(-1) ** 0.5, allowed)
        used = nn.functional.dropout(weights, self.p, self.training)
        # the last projection, one head at a time
        blocks = self.W_O.weight.chunk(self.heads, dim=1)
        return sum((used[:, h] @ v[:, h]) @ block.T for h, block in enumerate(blocks)), weights
