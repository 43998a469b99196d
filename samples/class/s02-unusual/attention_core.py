import torch


def shares(scores, allowed):
    """Softmax written out, over the allowed keys only."""
    if allowed is not None:
        scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    top = scores.amax(-1, keepdim=True)
    part = torch.exp(scores - top)
    if allowed is not None:
        part = part * allowed
    return part / part.sum(-1, keepdim=True)


def allowed_positions(mask):
    return None if mask is None else mask.ne(0)
