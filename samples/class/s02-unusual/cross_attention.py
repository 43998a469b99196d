from attention_core import allowed_positions, shares
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        width = d_k or d_model
        for name in ("W_Q", "W_K", "W_V"):
            setattr(self, name, nn.Linear(d_model, width, bias=False))

    def forward(self, query_input, key_value_input, mask=None):
        q, k, v = self.W_Q(query_input), self.W_K(key_value_input), self.W_V(key_value_input)
        root = q.size(-1) ** -0.25  # half of the scaling on each side keeps both small
        weights = shares((k * root).bmm((q * root).mT).mT, allowed_positions(mask))
        return weights.bmm(v), weights
