"""Queries, keys and values that are split into heads already, and what attention makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from grader.candidate.interface import Candidate

from .checks import as_tensor, assert_shape
from .drawing import Draw
from .layers import Sizes

WAYS = ("looped_attention", "batched_attention", "recurrent_attention")
SIZES = Sizes(batch=2, heads=3, seq_q=5, seq_k=7, d_k=4)


@dataclass(frozen=True)
class Heads:
    """q (batch, heads, seq_q, d_k), k (batch, heads, seq_k, d_k), v (batch, heads, seq_k, d_v)."""

    q: Tensor
    k: Tensor
    v: Tensor

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.q, self.k, self.v

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, (batch, heads, seq_q, d_v)."""
        return (*self.q.shape[:-1], self.v.shape[-1])

    def run(self, candidate: Candidate, way: str, mask: Tensor | None = None) -> Tensor:
        """What the function ``way`` returns. Raises WrongAnswer unless it has the promised shape."""
        keywords = {} if mask is None else {"mask": mask}
        found = as_tensor(candidate.apply(way, *self.inputs, **keywords).value, way)
        assert_shape(found, self.shape, "the result", "batch, num_heads, seq_q, d_v")
        return found

    def expected(self, mask: Tensor | None = None) -> Tensor:
        """What PyTorch's own attention gives, float64."""
        q, k, v = (x.double() for x in self.inputs)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask != 0)

    def expected_gradients(self, cotangent: Tensor, mask: Tensor) -> list[Tensor]:
        """The same attention's gradients for q, k and v, float64."""
        q, k, v = (x.double().requires_grad_() for x in self.inputs)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask != 0)
        return list(torch.autograd.grad(output, (q, k, v), cotangent.double()))


def drawn(draw: Draw, sizes: Sizes = SIZES, dtype: torch.dtype = torch.float32) -> Heads:
    """Inputs of these sizes; a value has one feature more than a key."""
    shapes = ((sizes.seq_q, sizes.d_k), (sizes.seq_k, sizes.d_k), (sizes.seq_k, sizes.d_k + 1))
    return Heads(*(draw.normal(sizes.batch, sizes.heads, *shape).to(dtype) for shape in shapes))


def operations(candidate: Candidate, way: str, draw: Draw, sizes: Sizes, *, masked: bool = False) -> int:
    """How many tensor operations one call of the function takes at these sizes."""
    mask = {"mask": draw.mask(sizes.seq_q, sizes.seq_k)} if masked else {}
    return sum(candidate.count_operations(way, *drawn(draw, sizes).inputs, **mask).values())
