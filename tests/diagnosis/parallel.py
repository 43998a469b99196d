"""What the three ways to compute one attention look like when one of them goes wrong."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from grader.candidate.faults import Refused, StudentError
from grader.candidate.interface import Candidate
from tests.diagnosis.altered import same
from tests.diagnosis.findings import Finding, finding
from tests.support.drawing import Draw
from tests.support.heads import SIZES, WAYS, Heads, drawn, operations

_LOOPS_OVER = {"looped_attention": "heads", "batched_attention": "", "recurrent_attention": "seq_k"}


def interview_parallel(candidate: Candidate, draw: Draw) -> list[Finding]:
    """The diagnoses of the first of the three functions that has any; none for right ones."""
    for way in WAYS:
        try:
            found = (
                _numbers(candidate, way, draw) or _masks(candidate, way, draw) or _steps(candidate, way, draw)
            )
        except Refused:
            found = finding("library-attention", f"Here in {way}.")
        except StudentError as error:
            if error.kind == "NotImplementedError":
                continue
            raise
        if found is not None:
            return [found]
    return []


def _attention(heads: Heads, scale: float | None = None) -> Tensor:
    return F.scaled_dot_product_attention(*heads.inputs, scale=scale)


def _numbers(candidate: Candidate, way: str, draw: Draw) -> Finding | None:
    heads = drawn(draw)
    here = f"Here in {way}."
    try:
        found = candidate.apply(way, *heads.inputs).value
    except Refused:
        raise
    except StudentError as error:
        if error.kind == "NotImplementedError":
            raise
        return finding("raises", here)
    if not isinstance(found, Tensor) or tuple(found.shape) != heads.shape:
        return finding("output-shape", here)
    if same(found, _attention(heads)):
        return _overflow(candidate, way, heads)
    if same(found, _attention(heads, scale=1.0)):
        return finding("scale-missing", here)
    scores = heads.q @ heads.k.mT / heads.q.shape[-1] ** 0.5
    if any(same(found, scores.softmax(axis) @ heads.v) for axis in (0, 1, 2)):
        return finding("softmax-axis", here)
    return _nameless(way)


def _overflow(candidate: Candidate, way: str, heads: Heads) -> Finding | None:
    steep = replace(heads, q=heads.q * 200)
    found = candidate.apply(way, *steep.inputs).value
    finite = isinstance(found, Tensor) and bool(found.isfinite().all())
    return None if finite else finding("softmax-overflow", f"Here in {way}.")


def _nameless(way: str) -> Finding | None:
    raise _NoName(way)


class _NoName(AssertionError):
    """The numbers are wrong in a way that has no name: nothing more is asked."""


def _masks(candidate: Candidate, way: str, draw: Draw) -> Finding | None:
    heads = drawn(draw)
    here = f"Here in {way}."
    mask = draw.mask(SIZES.seq_q, SIZES.seq_k)
    mask[:, 0] = torch.arange(SIZES.seq_q) % 2 == 0  # for some queries the first key is blocked
    mask[:, 1] = True
    mask[:, 2] = False
    try:
        found = candidate.apply(way, *heads.inputs, mask=mask).value
    except Refused:
        raise
    except StudentError:
        return finding("mask-crash", here)
    if not isinstance(found, Tensor) or tuple(found.shape) != heads.shape:
        return finding("output-shape", here)
    if same(found, F.scaled_dot_product_attention(*heads.inputs, attn_mask=mask)):
        return None
    if same(found, F.scaled_dot_product_attention(*heads.inputs, attn_mask=~mask)):
        return finding("mask-inverted", here)
    if same(found, _attention(heads)):
        return finding("mask-ignored", here)
    if bool(found.isnan().any()):
        return finding("mask-nan", here)
    scores = heads.q @ heads.k.mT / heads.q.shape[-1] ** 0.5
    if same(found, (scores.softmax(-1) * mask) @ heads.v):
        return finding("mask-after-softmax", here)
    fills = (scores.masked_fill(~mask, fill) for fill in (0.0, -1.0, -5.0, -10.0, -20.0))
    if any(same(found, filled.softmax(-1) @ heads.v) for filled in fills):
        return finding("mask-fill-too-mild", here)
    return _nameless(way)


def _steps(candidate: Candidate, way: str, draw: Draw) -> Finding | None:
    """Does the number of operations grow with what it should, and with nothing else?"""
    over = _LOOPS_OVER[way]
    for size in ("heads", "seq_k", "seq_q", "batch"):
        for masked in (False, True):
            few, many = (
                operations(candidate, way, draw, replace(SIZES, **{size: length}), masked=masked)
                for length in (3, 9)
            )
            if size == over and many - few < 6:
                return finding("loop-missing", f"Here in {way}.")
            if size != over and many > few:
                word = {"heads": "heads", "seq_k": "keys", "seq_q": "queries", "batch": "samples"}[size]
                if way == "recurrent_attention" and size == "seq_q":
                    return finding("loop-missing", f"Here in {way}, which loops over queries instead.")
                return finding("operations-grow", f"Here in {way}, with the number of {word}.")
    return None
