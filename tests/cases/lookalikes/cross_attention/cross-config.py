# the sizes live in a frozen dataclass

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Config:
    d_model: int
    d_k: int
    fill: float = float("-inf")

    @property
    def scale(self) -> float:
        return self.d_k**-0.5


class CrossAttention(nn.Module):
    def __init__(self, d_model: int, d_k: int | None = None) -> None:
        super().__init__()
        self.config = Config(d_model, d_k or d_model)
        self.W_Q, self.W_K, self.W_V = (
            nn.Linear(self.config.d_model, self.config.d_k, bias=False) for _ in range(3)
        )

    def forward(
        self, query_input: torch.Tensor, key_value_input: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.config.scale * self.W_Q(query_input) @ self.W_K(key_value_input).transpose(1, 2)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, self.config.fill)
        weights = scores.softmax(2)
        return weights @ self.W_V(key_value_input), weights
