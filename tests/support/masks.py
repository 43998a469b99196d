"""Masks in every accepted form, and the rule they follow: 0 (or False) blocks, anything else may be seen."""

from __future__ import annotations

import torch
from torch import Tensor

from .drawing import Draw
from .layers import Sizes

DTYPES = {"bool": torch.bool, "int": torch.int64, "float": torch.float32}
FORMS_3D = ("query x key", "batch x query x key", "batch x 1 x key")
FORMS_4D = (
    "1 x 1 x query x key",
    "batch x 1 x query x key",
    "batch x 1 x 1 x key",
    "1 x heads x query x key",
    "batch x heads x query x key",
)


# every form and every dtype
ACCEPTED = (
    ("query x key", "bool"),
    ("batch x query x key", "int"),
    ("batch x query x key", "float"),
    ("batch x 1 x key", "bool"),
)


def shape_of(form: str, sizes: Sizes) -> tuple[int, ...]:
    """The shape that a form such as ``batch x 1 x key`` has at these sizes."""
    named = {"batch": sizes.batch, "heads": sizes.heads, "query": sizes.seq_q, "key": sizes.seq_k, "1": 1}
    return tuple(named[part] for part in form.split(" x "))


def drawn(draw: Draw, form: str, sizes: Sizes, dtype: str = "bool") -> Tensor:
    """A random mask of the form in which every query may see at least one key."""
    return draw.mask(*shape_of(form, sizes)).to(DTYPES[dtype])


def causal(sizes: Sizes) -> Tensor:
    """Each query sees the keys up to its own position, (seq_q, seq_k)."""
    return torch.ones(sizes.seq_q, sizes.seq_k).tril().bool()


def applied(weights: Tensor, mask: Tensor) -> Tensor:
    """What a mask must make of a layer's own unmasked weights: the allowed shares, scaled up to 1.

    It holds whatever the scores are, so a mistake in the scores is not counted again here.
    """
    shaped = mask[:, None] if weights.dim() == 4 and mask.dim() == 3 else mask
    kept = weights.double() * (shaped != 0)
    return kept / kept.sum(-1, keepdim=True)
