import torch
from attention_core import allowed_positions, shares
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        width = d_k or d_model
        self.W_V = nn.Linear(d_model, width, bias=False)
        self.W_K = nn.Linear(d_model, width, bias=False)
        self.W_Q = nn.Linear(d_model, width, bias=False)

    def forward(self, x, mask=None):
        q = torch.einsum("bnd,kd->bnk", x, self.W_Q.weight)
        k = torch.einsum("bnd,kd->bnk", x, self.W_K.weight)
        scores = torch.einsum("bqk,bnk->bqn", q, k) * q.size(-1) ** -0.5
        weights = shares(scores, allowed_positions(mask))
        return torch.einsum("bqn,bnk->bqk", weights, self.W_V(x)), weights
