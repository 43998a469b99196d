# a loop over the samples, each with addmm

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
        pairs = [
            self.attend(*one) for one in zip(*self.unstacked(query_input, key_value_input, mask), strict=True)
        ]
        outputs, weights = zip(*pairs, strict=True)
        return torch.stack(outputs), torch.stack(weights)

    @staticmethod
    def unstacked(queries, memories, mask):
        batch = queries.size(0)
        own = mask is not None and mask.dim() == 3
        masks = mask.expand(batch, -1, -1).unbind(0) if own else [mask] * batch
        return queries.unbind(0), memories.unbind(0), masks

    def attend(self, query_input, memory, mask):
        q, k, v = self.W_Q(query_input), self.W_K(memory), self.W_V(memory)
        bias = q.new_zeros(q.size(0), k.size(0))
        if mask is not None:
            bias = bias.masked_fill(mask.expand_as(bias) == 0, float("-inf"))
        weights = torch.addmm(bias, q, k.t(), alpha=self.d_k**-0.5).softmax(dim=1)
        return weights.mm(v), weights
