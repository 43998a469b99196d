# products by broadcasting, results written into place, vmap over the heads

import torch


def _attend(q, k, v, allowed):
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / q.shape[-1] ** 0.5
    scores = scores.where(allowed, torch.tensor(float("-inf"), dtype=q.dtype, device=q.device))
    return (scores.softmax(-1).unsqueeze(-1) * v.unsqueeze(-3)).sum(-2)


def _allowed(q, k, mask):
    shape = (*q.shape[:3], k.shape[2])
    return q.new_ones(shape, dtype=torch.bool) if mask is None else mask.to(torch.bool).expand(shape)


def looped_attention(q, k, v, mask=None):
    allowed = _allowed(q, k, mask)
    out = q.new_zeros(*q.shape[:3], v.shape[3])
    for h in range(q.shape[1]):
        out[:, h] = _attend(q[:, h], k[:, h], v[:, h], allowed[:, h])
    return out


def batched_attention(q, k, v, mask=None):
    return torch.vmap(_attend, in_dims=1, out_dims=1)(q, k, v, _allowed(q, k, mask))


def recurrent_attention(q, k, v, mask=None):
    allowed = _allowed(q, k, mask)
    top = torch.full_like(q[..., :1], torch.finfo(q.dtype).min)
    state = torch.zeros_like(top), torch.zeros_like(q[..., :1] * v[:, :, :1])
    for j in range(k.shape[2]):
        score = (q * k[:, :, j, None]).sum(-1, keepdim=True) / q.shape[-1] ** 0.5
        seen = allowed[..., j, None]
        new_top = torch.where(seen, torch.maximum(top, score), top).detach()
        share = torch.where(seen, (score - new_top).clamp(max=0).exp(), torch.zeros_like(score))
        down = (top - new_top).exp()
        state = state[0] * down + share, state[1] * down + share * v[:, :, j, None]
        top = new_top
    return state[1] / state[0]
