"""What pattern_scores counts when it counts other cells than it should, or divides by another number."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.candidate.faults import CandidateError
from grader.candidate.interface import Candidate
from tests.diagnosis.altered import same
from tests.diagnosis.findings import Finding, finding
from tests.support import shares
from tests.support.drawing import Draw
from tests.support.usual_slips import HABITS, as_scores


def interview_patterns(candidate: Candidate, draw: Draw) -> list[Finding]:
    """The diagnoses of pattern_scores; none for a right one, and none of how heads are named."""
    weights = shares.drawn(draw, 2, 3, 5)
    seen = candidate.apply("pattern_scores", weights)
    try:
        scores = as_scores(seen.value)
    except AssertionError:
        return [finding("pattern-names")]
    if any(tuple(score.shape) != (2, 3) for score in scores.values()):
        shapes = ", ".join(f"{name} {tuple(scores[name].shape)}" for name in HABITS)
        return [finding("pattern-scores-shape", f"Here: {shapes}, for a batch of 2 and 3 heads.")]
    for name in HABITS:
        right, *others = _sums(weights, name)
        cells = 4 if name == "previous_token" else 5
        if same(scores[name], right / cells):
            continue
        if any(same(scores[name], right / number) for number in (1, 4, 5, 6, 16, 20, 25)):
            return [finding("pattern-divided-otherwise", f"Here in {name}.")]
        if any(same(scores[name], other / number) for other in others for number in (4, 5)):
            return [finding("pattern-other-cells", f"Here in {name}.")]
        return []
    return _promises(candidate, weights, list(seen.devices))


def _sums(weights: Tensor, name: str) -> list[Tensor]:
    """The weights on the cells of the pattern, added up; then those on the cells of others."""
    turned = weights.transpose(-1, -2)
    diagonals = [table.diagonal(place, -2, -1).sum(-1) for table in (weights, turned) for place in (0, -1)]
    edges = [table[..., place].sum(-1) for table in (weights, turned) for place in (0, -1)]
    own, before = diagonals[0], diagonals[1]
    first = edges[0]
    right = {"diagonal": own, "previous_token": before, "first_token": first}[name]
    return [right, *(other for other in (*diagonals, *edges) if other is not right)]


def _promises(candidate: Candidate, weights: Tensor, devices: list[str]) -> list[Finding]:
    for dtype in (torch.float64, torch.bfloat16):
        try:
            found = as_scores(candidate.apply("pattern_scores", weights.to(dtype)).value)
        except CandidateError:
            return [finding("dtype-changed")]
        if any(score.dtype is not dtype for score in found.values()):
            return [finding("dtype-changed")]
    try:
        there = candidate.apply_on("accelerator", "pattern_scores", weights).devices
    except CandidateError:
        return [finding("device-fixed")]
    return [finding("device-fixed")] if set(there) & set(devices) else []
