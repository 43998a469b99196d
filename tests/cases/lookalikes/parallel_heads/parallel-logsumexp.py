# running log of the sum of exponentials, heads folded into the batch, one helper for one head

import math

import torch


def one_head(q, k, v, mask):
    scores = torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(q.size(2)))
    if mask is not None:
        scores = scores.masked_fill(mask.eq(0), -math.inf)
    return torch.bmm((scores - scores.logsumexp(-1, keepdim=True)).exp(), v)


def looped_attention(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(q.size(0), q.size(1), q.size(2), k.size(2))
    heads = [one_head(q[:, i], k[:, i], v[:, i], None if mask is None else mask[:, i]) for i in range(q.size(1))]
    return torch.stack(heads, 1)


def batched_attention(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(q.size(0), q.size(1), q.size(2), k.size(2)).flatten(0, 1)
    return one_head(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), mask).unflatten(0, q.shape[:2])


def recurrent_attention(q, k, v, mask=None):
    log_total, output = None, None
    for key, value, j in zip(k.unbind(2), v.unbind(2), range(k.size(2))):
        score = (q * key.unsqueeze(2)).sum(-1, keepdim=True) / math.sqrt(q.size(-1))
        if mask is not None:
            allowed = (mask != 0).expand(*q.shape[:3], k.size(2))[..., j : j + 1]
            score = score.masked_fill(~allowed, -1e30 if q.dtype != torch.float16 else -6e4)
        if output is None:
            log_total, output = score, value.unsqueeze(2).expand(*q.shape[:3], -1)
            continue
        new = torch.logaddexp(log_total, score)
        output = output * (log_total - new).exp() + value.unsqueeze(2) * (score - new).exp()
        log_total = new
    return output
