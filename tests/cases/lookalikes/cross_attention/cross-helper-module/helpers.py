"""What the exercises share."""

from torch import nn


def projection(d_in, d_out):
    return nn.Linear(d_in, d_out, bias=False)


def attend(q, k, v, blocked=None):
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if blocked is not None:
        scores = scores.masked_fill(blocked, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
