# every product is an einsum on the weights themselves

import torch
from torch import einsum, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        q = einsum("bsd,kd->bsk", x, self.W_Q.weight)
        k = einsum("bsd,kd->bsk", x, self.W_K.weight)
        v = einsum("bsd,kd->bsk", x, self.W_V.weight)
        scores = einsum("bik,bjk->bij", q, k) * self.d_k**-0.5
        if mask is not None:
            scores = torch.where(mask.bool(), scores, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return einsum("bij,bjk->bik", weights, v), weights
