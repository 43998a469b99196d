# the projections are created in another order, after other attributes

from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        width = d_k or d_model
        self.softmax = nn.Softmax(dim=-1)
        self.W_V = nn.Linear(in_features=d_model, out_features=width, bias=False)
        self.W_K = nn.Linear(in_features=d_model, out_features=width, bias=False)
        self.W_Q = nn.Linear(in_features=d_model, out_features=width, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        values, keys, queries = self.W_V(key_value_input), self.W_K(key_value_input), self.W_Q(query_input)
        scores = queries.matmul(keys.transpose(2, 1)).div(queries.size(-1) ** 0.5)
        if mask is not None:
            scores.masked_fill_(mask == 0, float("-inf"))
        weights = self.softmax(scores)
        return weights.matmul(values), weights
