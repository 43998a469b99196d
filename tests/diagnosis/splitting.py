"""What split_heads makes of its input when the heads do not get what they should."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import torch
from torch import Tensor

from grader.candidate.faults import CandidateError, NotUsable, Refused, StudentError
from tests.diagnosis.altered import split_usual
from tests.diagnosis.findings import Finding, finding
from tests.support.layers import MultiHeadAttentionLayer, Sizes


def interview_split(layer: MultiHeadAttentionLayer) -> list[Finding]:
    """The diagnoses of split_heads, most telling first; none for a right one."""
    layer.candidate.load(layer.class_name)
    try:
        return _interview(layer)
    except Refused:
        return [finding("library-attention")]


def _interview(layer: MultiHeadAttentionLayer) -> list[Finding]:
    try:
        model = layer.build(layer.sizes)
        model.parameters()
    except CandidateError:
        return [finding("constructor-crash")]
    sizes = layer.sizes
    x = layer.draw.normal(sizes.batch, sizes.seq_q, sizes.d_model).float()
    try:
        seen = model.watch("split_heads", x, sizes.batch)
    except StudentError as error:
        if error.kind == "TypeError" and "argument" in error.message:
            return [finding("argument-names")]
        return [finding("sizes-assumed" if _works_somewhere(layer) else "raises")]
    except NotUsable:
        return [finding("argument-names", "Here there is no such method.")]
    found = seen.value
    if not isinstance(found, Tensor):
        return [finding("output-shape", "Here it is not one tensor.")]
    heads = sizes.heads
    right = split_usual(x, heads)
    if tuple(found.shape) != tuple(right.shape):
        shapes = f"Here it has {tuple(found.shape)} instead of {tuple(right.shape)}."
        return [finding("output-shape", shapes)]
    if not torch.equal(found.float(), right):
        return _misplaced(found.float(), x, heads)
    if not torch.equal(seen.args[0], x):
        return [finding("input-modified")]
    return _promises(layer)


def _misplaced(found: Tensor, x: Tensor, heads: int) -> list[Finding]:
    right = split_usual(x, heads)
    if torch.equal(found, right.relu()):
        return [finding("activation-added")]
    if torch.equal(found, right[:, :1].expand(right.shape)):
        return [finding("heads-mixed", "Here every head gets what the first should.")]
    if all(any(torch.equal(one, other) for other in right) for one in found):
        return [finding("batch-mixed", "Here samples get what other samples should.")]
    if any(torch.equal(found, other) for other in _orders(x, heads)):
        return [finding("heads-split-order")]
    if torch.allclose(found, right, atol=0.05, rtol=0.05):
        return [finding("dtype-changed")]
    return []


def _orders(x: Tensor, heads: int) -> Iterator[Tensor]:
    """The numbers as they lie, cut into axes in every order, and the axes then put in place."""
    batch, length, width = x.shape
    shape = {"b": batch, "h": heads, "s": length, "d": width // heads}
    for order in permutations("bhsd"):
        cut = x.reshape([shape[axis] for axis in order])
        yield cut.permute([order.index(axis) for axis in "bhsd"])
    yield split_usual(x, heads).flip(1)


def _promises(layer: MultiHeadAttentionLayer) -> list[Finding]:
    edges = (Sizes(batch=1), Sizes(heads=1), Sizes(seq_q=1), Sizes(d_k=1), Sizes(batch=3), Sizes(seq_q=3))
    for sizes in edges:
        fit = layer.fit(batch=sizes.batch, heads=sizes.heads, seq_q=sizes.seq_q, d_k=sizes.d_k)
        x = layer.draw.normal(fit.batch, fit.seq_q, fit.d_model).float()
        if not _splits(layer, x, fit):
            shape = _shape_of(layer, x, fit)
            right = (fit.batch, fit.heads, fit.seq_q, fit.d_k)
            return [finding("output-shape" if shape not in (None, right) else "sizes-assumed")]
    model = layer.build(layer.sizes)
    for batch, length in ((2, 5), (2, 7), (3, 4)):
        x = layer.draw.normal(batch, length, layer.sizes.d_model).float()
        try:
            found = model.call("split_heads", x, batch)
        except CandidateError:
            found = None
        if not (isinstance(found, Tensor) and torch.equal(found, split_usual(x, layer.sizes.heads))):
            return [finding("state-kept") if _splits(layer, x, layer.sizes) else finding("sizes-assumed")]
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        x = layer.draw.normal(2, 5, layer.sizes.d_model).to(dtype)
        try:
            found = layer.build(layer.sizes).call("split_heads", x, 2)
        except CandidateError:
            return [finding("dtype-changed")]
        if not isinstance(found, Tensor) or found.dtype is not dtype:
            return [finding("dtype-changed")]
        if not torch.equal(found, split_usual(x, layer.sizes.heads)):
            return [finding("dtype-changed", "Here digits are lost.")]
    x = layer.draw.normal(2, 5, layer.sizes.d_model).float().transpose(1, 2).contiguous().transpose(1, 2)
    if not _splits(layer, x, layer.sizes):
        return [finding("memory-order")]
    return _gradient(layer)


def _splits(layer: MultiHeadAttentionLayer, x: Tensor, sizes: Sizes) -> bool:
    try:
        found = layer.build(sizes).call("split_heads", x, x.shape[0])
    except CandidateError:
        return False
    return isinstance(found, Tensor) and torch.equal(found, split_usual(x, sizes.heads))


def _shape_of(layer: MultiHeadAttentionLayer, x: Tensor, sizes: Sizes) -> tuple[int, ...] | None:
    try:
        found = layer.build(sizes).call("split_heads", x, x.shape[0])
    except CandidateError:
        return None
    return tuple(found.shape) if isinstance(found, Tensor) else ()


def _works_somewhere(layer: MultiHeadAttentionLayer) -> bool:
    for batch, length in ((1, 5), (2, 2), (5, 5), (2, 10), (3, 3), (2, 4), (32, 100)):
        if _splits(layer, layer.draw.normal(batch, length, layer.sizes.d_model).float(), layer.sizes):
            return True
    return False


def _gradient(layer: MultiHeadAttentionLayer) -> list[Finding]:
    x = layer.draw.normal(2, 5, layer.sizes.d_model).float()
    cotangent = torch.ones(2, layer.sizes.heads, 5, layer.sizes.d_k)
    model = layer.build(layer.sizes)
    try:
        found = model.gradients(x, 2, cotangents=[cotangent], method="split_heads")
    except StudentError as error:
        return [finding("input-modified" if "in-place" in error.message else "gradient-broken")]
    gradient = (found.inputs or [None])[0]
    return [finding("gradient-cut")] if gradient is None or bool((gradient == 0).any()) else []
