"""What a figure of attention heads shows when it does not show what it should."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.candidate.faults import CandidateError
from grader.candidate.interface import Candidate
from grader.candidate.values import Described
from tests.diagnosis.altered import same
from tests.diagnosis.findings import Finding, finding
from tests.support import shares
from tests.support.drawing import Draw
from tests.support.pictures import Picture, as_picture

_PLOT = "visualize_multi_head_attention"
_TOKENS = ["Grandma", "watered", "the", "fern", "daily"]


def interview_plots(candidate: Candidate, draw: Draw) -> list[Finding]:
    """The diagnoses of the plots; none for a right one."""
    weights = shares.drawn(draw, 2, 3, len(_TOKENS))
    try:
        value = candidate.apply(_PLOT, weights, _TOKENS, num_heads_to_show=3).value
    except CandidateError:
        return []
    if not isinstance(value, Described):
        return [finding("plot-not-a-figure")]
    try:
        picture = as_picture(value)
    except AssertionError:
        return [finding("plot-other-numbers", "Here they are ready-made colours.")]
    again = as_picture(candidate.apply(_PLOT, weights, _TOKENS, num_heads_to_show=3).value)
    if len(again.maps) != len(picture.maps):
        return [finding("state-kept", "Here a figure also shows what an earlier call drew.")]
    if len(picture.maps) != 3 or not _draws_as_many_as_asked(candidate, draw):
        return [finding("plot-head-count")]
    found = _numbers(picture, weights[0])
    return found or _words(picture) or _plainness(candidate, weights)


def _draws_as_many_as_asked(candidate: Candidate, draw: Draw) -> bool:
    for heads, asked, expected in ((6, 4, 4), (3, 4, 3), (5, 2, 2), (1, 4, 1)):
        weights = shares.drawn(draw, 2, heads, len(_TOKENS))
        try:
            picture = as_picture(candidate.apply(_PLOT, weights, _TOKENS, num_heads_to_show=asked).value)
        except (CandidateError, AssertionError):
            return False
        if len(picture.maps) != expected:
            return False
    return True


def _numbers(picture: Picture, weights: Tensor) -> list[Finding]:
    drawn = [one.by_tokens(_TOKENS) for one in picture.maps]
    if all(same(found, table) for found, table in zip(drawn, weights, strict=True)):
        return []
    if all(same(found, table.T) for found, table in zip(drawn, weights, strict=True)):
        return [finding("plot-transposed")]
    return [finding("plot-other-numbers")]


def _words(picture: Picture) -> list[Finding]:
    labels = [each for one in picture.maps for each in (one.row_labels, one.column_labels)]
    shown = [any(one.labels_shown[place] for one in picture.maps) for place in (0, 1)]
    placed = all(each in (_TOKENS, _TOKENS[::-1]) for each in labels)
    return [] if placed and all(shown) else [finding("plot-tokens-misplaced")]


def _plainness(candidate: Candidate, weights: Tensor) -> list[Finding]:
    """Weights of another dtype, with gradients, or on another device: each stops NumPy."""
    tries = (
        ("of bfloat16", lambda: candidate.apply(_PLOT, weights.to(torch.bfloat16), _TOKENS)),
        ("with gradients", lambda: candidate.gradients(_PLOT, weights, _TOKENS, cotangents=[None])),
        ("on an accelerator", lambda: candidate.apply_on("accelerator", _PLOT, weights, _TOKENS)),
    )
    for kind, attempt in tries:
        try:
            attempt()
        except CandidateError:
            return [finding("plot-needs-plain-numbers", f"Here: weights {kind}.")]
    return []
