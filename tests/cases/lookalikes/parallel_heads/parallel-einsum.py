# einsum everywhere, unbound heads, a second pass for the recurrent sums

import torch


def _fill(scores, mask):
    return scores if mask is None else torch.where(mask == 0, -torch.inf, scores)


def looped_attention(q, k, v, mask=None):
    full = None if mask is None else torch.broadcast_to(mask, (q.shape[0], q.shape[1], q.shape[2], k.shape[2]))
    results = torch.empty(*q.shape[:-1], 0).to(q)
    pieces = []
    for h, (qh, kh, vh) in enumerate(zip(q.unbind(1), k.unbind(1), v.unbind(1))):
        scores = torch.einsum("bqd,bkd->bqk", qh, kh) * qh.shape[-1] ** -0.5
        pieces.append(_fill(scores, None if full is None else full[:, h]).softmax(-1).bmm(vh).unsqueeze(1))
    return torch.cat(pieces, 1)


def batched_attention(q, k, v, mask=None):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhqk,bhkv->bhqv", torch.softmax(_fill(scores, mask), -1), v)


def recurrent_attention(q, k, v, mask=None):
    full = None if mask is None else torch.broadcast_to(mask, (q.shape[0], q.shape[1], q.shape[2], k.shape[2]))

    def score(j):
        found = torch.einsum("bhqd,bhd->bhq", q, k[:, :, j]) * q.shape[-1] ** -0.5
        return _fill(found, None if full is None else full[..., j])

    highest = score(0)
    for j in range(1, k.shape[2]):
        highest = torch.maximum(highest, score(j))
    highest = highest.detach().clamp(min=torch.finfo(q.dtype).min)
    total, mixture = 0, 0
    for j in range(k.shape[2]):
        share = (score(j) - highest).exp()
        total = total + share
        mixture = mixture + torch.einsum("bhq,bhv->bhqv", share, v[:, :, j])
    return mixture / total.unsqueeze(-1)
