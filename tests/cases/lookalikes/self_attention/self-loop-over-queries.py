# a loop over samples and queries that looks only at the keys that may be seen

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        batch, length, _ = x.shape
        if mask is None:
            mask = torch.ones(length, length, device=x.device)
        mask = mask.expand(batch, length, length)
        outputs, weights = [], []
        for b in range(batch):
            for i in range(length):
                seen = mask[b, i].nonzero().squeeze(1)
                shares = torch.softmax(k[b, seen] @ q[b, i] / self.d_k**0.5, dim=0)
                weights.append(torch.zeros_like(mask[b, i], dtype=x.dtype).index_add(0, seen, shares))
                outputs.append(shares @ v[b, seen])
        return torch.stack(outputs).view(batch, length, -1), torch.stack(weights).view(batch, length, length)
