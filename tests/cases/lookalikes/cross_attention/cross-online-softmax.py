# online softmax key by key, with the weights rescaled as they grow

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_model if d_k is None else d_k
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, query_input, key_value_input, mask=None):
        q = self.W_Q(query_input) / math.sqrt(self.d_k)
        k, v = self.W_K(key_value_input), self.W_V(key_value_input)
        batch, asking, answering = q.size(0), q.size(1), k.size(1)
        if mask is None:
            mask = torch.ones(asking, answering, dtype=torch.bool, device=q.device)
        allowed = mask.bool().expand(batch, asking, answering)
        highest = q.new_full((batch, asking), torch.finfo(q.dtype).min)
        total = q.new_zeros(batch, asking)
        output = v.new_zeros(batch, asking, v.size(2))
        weights = []
        for j in range(answering):
            score = (q * k[:, j, None]).sum(-1)
            risen = torch.where(allowed[..., j], torch.maximum(highest, score), highest)
            shrink = torch.exp(highest - risen)
            share = torch.where(
                allowed[..., j], torch.exp(torch.minimum(score - risen, score.new_zeros(()))), 0
            )
            total = total * shrink + share
            output = output * shrink[..., None] + share[..., None] * v[:, j, None]
            weights = [weight * shrink for weight in weights] + [share]
            highest = risen
        return output / total[..., None], torch.stack(weights, dim=-1) / total[..., None]
