"""Random inputs, drawn anew for every run, submission and test, and repeatable by seed."""

from __future__ import annotations

import torch
from torch import Tensor


class Draw:
    """A source of numbers for one test."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Standard normal numbers times ``scale``, float64."""
        return torch.randn(*shape, generator=self._generator, dtype=torch.float64) * scale

    def quarters(self, *shape: int, most: int = 8) -> Tensor:
        """Multiples of 1/4 between -most/4 and most/4: products of a few of them are exact."""
        return torch.randint(-most, most + 1, shape, generator=self._generator).double() / 4

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def permutation(self, length: int) -> Tensor:
        """The numbers 0 to length - 1 in an order that is not the usual one."""
        order = torch.randperm(length, generator=self._generator)
        return order.roll(1) if torch.equal(order, torch.arange(length)) else order

    def mask(self, *shape: int, share: float = 0.5) -> Tensor:
        """A bool mask in which every query (last axis) may see at least one key, and not all of them."""
        allowed = torch.rand(*shape, generator=self._generator) < share
        keys = shape[-1]
        seen = torch.randint(0, keys, (*shape[:-1], 1), generator=self._generator)
        allowed.scatter_(-1, seen, value=True)
        if keys > 1:
            allowed.scatter_(-1, (seen + 1) % keys, value=False)
        return allowed
