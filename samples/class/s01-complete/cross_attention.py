"""Cross-attention: the tokens of one sequence look at the tokens of another.

A translator writing the next word looks back at the sentence to be translated: the
questions come from what is being written, the labels and the content from what is being
read. The arithmetic is that of self-attention; only the sources differ, and so may the
lengths of the two sequences.

    attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
"""

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    """Scaled dot-product attention from one sequence to another, with one head.

    Three projections without bias, named W_Q, W_K and W_V, each an nn.Linear from d_model
    to d_k features. Queries are made from one input, keys and values from the other.
    """

    def __init__(self, d_model: int, d_k: int | None = None) -> None:
        """Prepare the three projections.

        Args:
            d_model: number of features of a token, the same in both sequences.
            d_k: number of features of a query, a key and a value; d_model if not given.
        """
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(
        self,
        query_input: torch.Tensor,
        key_value_input: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Let every token of query_input attend to the tokens of key_value_input it may see.

        Where the mask is 0 (or False) the position is blocked: its weight is exactly 0.
        Anything else may be seen. Row i of the mask belongs to query i, column j to key j.

        Args:
            query_input: the tokens that ask, (batch, seq_q, d_model); left as it is.
            key_value_input: the tokens that answer, (batch, seq_k, d_model); left as it is.
            mask: bool, int or float, of shape (seq_q, seq_k), (batch, seq_q, seq_k) or
                (batch, 1, seq_k); left as it is. Without one every position may be seen.

        Returns:
            output: (batch, seq_q, d_k)
            attention_weights: (batch, seq_q, seq_k); each row adds up to 1.
        """
        q = self.W_Q(query_input)  # (batch, seq_q, d_k)
        k, v = self.W_K(key_value_input), self.W_V(key_value_input)  # (batch, seq_k, d_k)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)  # (batch, seq_q, seq_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attention_weights = scores.softmax(dim=-1)
        return attention_weights @ v, attention_weights  # (batch, seq_q, d_k)
