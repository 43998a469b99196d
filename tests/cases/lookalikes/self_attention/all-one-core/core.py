"""The arithmetic of attention, for any number of leading axes."""

import math


def attention(q, k, v, mask=None, drop=lambda weights: weights):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = scores.softmax(dim=-1)
    return drop(weights) @ v, weights
