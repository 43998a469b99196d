# the attention lives in a second file

from helpers import attend, projection
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        d_k = d_k or d_model
        self.W_Q = projection(d_model, d_k)
        self.W_K = projection(d_model, d_k)
        self.W_V = projection(d_model, d_k)

    def forward(self, query_input, key_value_input, mask=None):
        return attend(
            self.W_Q(query_input), self.W_K(key_value_input), self.W_V(key_value_input), blocked_by(mask)
        )


def blocked_by(mask):
    return None if mask is None else mask == 0
