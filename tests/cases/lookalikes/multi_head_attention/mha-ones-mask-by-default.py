# forward always works with a mask, and hands nothing but positional arguments on
# exercises: split_heads, multi_head_attention

import torch
from torch import Tensor, nn


def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, p: float, training: bool):
    """A name close to the library's, but written out."""
    scores = (q * q.shape[-1] ** -0.5).matmul(k.mT).where(mask, float("-inf"))
    weights = scores.softmax(-1)
    return torch.dropout(weights, p, training).matmul(v), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"cannot split {d_model} into {num_heads} equal parts")
        self.num_heads, self.p = num_heads, dropout
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x: Tensor, batch_size: int) -> Tensor:
        return x.view(batch_size, x.shape[1], self.num_heads, -1).transpose(1, 2)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None):
        size = query.shape[0]
        if mask is None:
            mask = torch.ones(1, 1, 1, 1, device=query.device)
        elif mask.dim() == 3:
            mask = mask[:, None]
        q = self.split_heads(self.W_Q(query), size)
        k = self.split_heads(self.W_K(key), size)
        v = self.split_heads(self.W_V(value), size)
        heads, weights = scaled_dot_product(q, k, v, mask != 0, self.p, self.training)
        return self.W_O(heads.transpose(1, 2).reshape(query.shape)), weights
