# the attention lives in a package of its own beside the exercise

from attention_parts import masked_softmax
from attention_parts.scores import scaled_scores
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        scores = scaled_scores(self.W_Q(query_input), self.W_K(key_value_input))
        weights = masked_softmax(scores, mask)
        return weights @ self.W_V(key_value_input), weights
