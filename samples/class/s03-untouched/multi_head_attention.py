"""Multi-head attention: several attentions side by side, each on its own share of the features.

One head has one set of weights for each token: it can follow the verb, or look up what
"it" refers to, but it has to average the two. Several narrow heads can do both at once.
Their answers are laid next to each other again and blended by one last projection.

    head_h = softmax(Q_h K_hᵀ / √d_k) V_h        with d_k = d_model / num_heads
    output = W_O applied to (head_0, head_1, …) laid side by side
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention with several heads.

    Four projections without bias, named W_Q, W_K, W_V and W_O, each an nn.Linear from
    d_model to d_model features. The first three serve all heads at once; each head owns
    d_k = d_model / num_heads of their features.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.1) -> None:
        """Prepare the four projections and the dropout.

        Args:
            d_model: number of features of a token; a multiple of num_heads.
            num_heads: number of heads.
            dropout: probability of dropping an attention weight while training.

        Raises:
            ValueError: d_model cannot be shared evenly by the heads (an AssertionError
                will do as well).
        """
        raise NotImplementedError("Check d_model, then create W_Q, W_K, W_V, W_O and the dropout.")

    def split_heads(self, x: torch.Tensor, batch_size: int) -> torch.Tensor:
        """Give every head its own share of the features.

        Head 0 takes the first d_k features of every token, head 1 the next d_k, and so on.
        No number changes; each one only moves to the place of its head.

        Args:
            x: (batch, seq_len, d_model)
            batch_size: number of sequences in x.

        Returns:
            (batch, num_heads, seq_len, d_k)
        """
        raise NotImplementedError("Deal the features of every token out to the heads.")

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Let every token of query attend, in each head, to the tokens of key it may see.

        Where the mask is 0 (or False) the position is blocked: its weight is exactly 0.
        Anything else may be seen. A mask of up to three dimensions is shared by the heads.
        While training, dropout acts on the attention weights before they mix the values.

        Args:
            query: the tokens that ask, (batch, seq_q, d_model); left as it is.
            key: the tokens that are matched, (batch, seq_k, d_model); left as it is.
            value: what those tokens pass on, (batch, seq_k, d_model); left as it is.
            mask: bool, int or float, of shape (seq_q, seq_k), (batch, seq_q, seq_k),
                (batch, 1, seq_k), or any 4-D shape that broadcasts to
                (batch, num_heads, seq_q, seq_k); left as it is. Without one every
                position may be seen.

        Returns:
            output: (batch, seq_q, d_model)
            attention_weights: (batch, num_heads, seq_q, seq_k), taken before or after dropout.
        """
        raise NotImplementedError("Project, split, attend in every head, rejoin the heads, apply W_O.")
