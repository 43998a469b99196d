# the projections are added in a loop and fetched by their names, d_k is read off a weight

from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        for letter in "QKV":
            self.add_module(f"W_{letter}", nn.Linear(d_model, d_k or d_model, bias=False))

    def forward(self, x, mask=None):
        queries, keys, values = (getattr(self, f"W_{letter}")(x) for letter in "QKV")
        width = self.W_K.weight.shape[0]
        scores = queries @ keys.transpose(-2, -1) / width**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = scores.softmax(dim=-1)
        return weights @ values, weights
