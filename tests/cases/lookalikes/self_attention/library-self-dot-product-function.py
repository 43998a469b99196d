# F.scaled_dot_product_attention gives the output, and the weights by attending to the identity
# refused: yes

import torch
import torch.nn.functional as F
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
        allowed = None if mask is None else (mask != 0).expand(x.size(0), x.size(1), x.size(1))
        identity = torch.eye(x.size(1), dtype=x.dtype, device=x.device).expand(x.size(0), -1, -1)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return output, F.scaled_dot_product_attention(q, k, identity, attn_mask=allowed)
