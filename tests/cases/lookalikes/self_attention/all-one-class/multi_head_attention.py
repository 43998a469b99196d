from general_attention import GeneralAttention
from torch import nn


class MultiHeadAttention(GeneralAttention):
    def __init__(self, d_model, num_heads, dropout=0.1):
        assert d_model % num_heads == 0, "num_heads must divide d_model"
        super().__init__(d_model, d_model, num_heads, dropout)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        heads, weights = self.attend(query, key, value, mask)
        return self.W_O(heads), weights
