# queries and keys are never made: the scores are a bilinear form in the tokens

import math

from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        meeting = self.W_Q.weight.T @ self.W_K.weight  # how any two tokens match, (d_model, d_model)
        scores = x @ meeting @ x.transpose(1, 2) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(-1)
        # first mix the tokens, then project the mixture: the same, as both are linear
        return self.W_V(weights @ x), weights
