import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_k or d_model
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        # wrong twice: the scores are not scaled, and the mask is not looked at
        scores = self.W_Q(x) @ self.W_K(x).transpose(-2, -1)
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.W_V(x), weights
