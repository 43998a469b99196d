# the library's attention in all three
# refused: yes

import torch
import torch.nn.functional as F


def batched_attention(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask != 0)


def looped_attention(q, k, v, mask=None):
    full = None if mask is None else mask.expand(*q.shape[:3], k.size(2))
    return torch.stack(
        [batched_attention(q[:, h], k[:, h], v[:, h], None if full is None else full[:, h]) for h in range(q.size(1))],
        dim=1,
    )


recurrent_attention = batched_attention
