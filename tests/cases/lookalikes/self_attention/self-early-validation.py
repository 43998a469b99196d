# inputs and mask are checked first, with errors of its own

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_k: int | None = None):
        super().__init__()
        if not isinstance(d_model, int) or d_model < 1:
            raise ValueError(f"d_model must be a positive integer, got {d_model!r}")
        if d_k is not None and (not isinstance(d_k, int) or d_k < 1):
            raise ValueError(f"d_k must be a positive integer, got {d_k!r}")
        self.d_model = d_model
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"x must be a tensor, got {type(x).__name__}")
        if x.dim() != 3 or x.size(-1) != self.d_model:
            raise ValueError(f"x must be (batch, seq_len, {self.d_model}), got {tuple(x.shape)}")
        if mask is not None and not isinstance(mask, torch.Tensor):
            raise TypeError(f"mask must be a tensor, got {type(mask).__name__}")
        batch, length, _ = x.shape
        if mask is not None and tuple(mask.shape) not in {
            (length, length),
            (batch, length, length),
            (batch, 1, length),
        }:
            raise ValueError(f"a mask of shape {tuple(mask.shape)} does not fit x of shape {tuple(x.shape)}")
        scores = self.W_Q(x) @ self.W_K(x).transpose(1, 2) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = scores.softmax(dim=-1)
        return weights @ self.W_V(x), weights
