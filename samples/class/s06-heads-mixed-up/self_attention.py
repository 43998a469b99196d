"""Self-attention: every token of a sequence looks at every token of the same sequence.

Each token asks a question (its query), wears a label (its key) and carries something to
pass on (its value). How well a query matches a key decides how much of that key's value
the token takes in. All three are learned, and all three come from the same input.

    attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
"""

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    """Scaled dot-product attention of a sequence to itself, with one head.

    Three projections without bias, named W_Q, W_K and W_V, turn the input into queries,
    keys and values. Each of them is an nn.Linear from d_model to d_k features.
    """

    def __init__(self, d_model: int, d_k: int | None = None) -> None:
        """Prepare the three projections.

        Args:
            d_model: number of features of a token.
            d_k: number of features of a query, a key and a value; d_model if not given.
        """
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Let every token attend to the tokens it may see.

        Where the mask is 0 (or False) the position is blocked: its weight is exactly 0.
        Anything else may be seen. Row i of the mask belongs to query i, column j to key j.

        Args:
            x: the tokens, (batch, seq_len, d_model); left as it is.
            mask: bool, int or float, of shape (seq_len, seq_len), (batch, seq_len, seq_len)
                or (batch, 1, seq_len); left as it is. Without one every position may be seen.

        Returns:
            output: (batch, seq_len, d_k)
            attention_weights: (batch, seq_len, seq_len); each row adds up to 1.
        """
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)  # (batch, seq_len, d_k)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)  # (batch, seq_len, seq_len)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attention_weights = scores.softmax(dim=-1)
        return attention_weights @ v, attention_weights  # (batch, seq_len, d_k)
