# a forward of one statement, without names for the steps

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        return (lambda weights: (weights @ self.W_V(x), weights))(
            F.softmax(
                (self.W_Q(x) @ self.W_K(x).mT / self.d_k**0.5).masked_fill(
                    x.new_zeros(()).bool() if mask is None else mask == 0, float("-inf")
                ),
                dim=-1,
            )
        )
