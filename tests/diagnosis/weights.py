"""What unmasked attention weights look like when they are not what the formula gives."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from tests.diagnosis.altered import Made, pairs, projected, same, scores, shares, usual, usual_sources
from tests.diagnosis.findings import Finding, finding
from tests.support.layers import Trial

_AXES = {3: {0: "the batch", 1: "the queries"}, 4: {0: "the batch", 1: "the heads", 2: "the queries"}}


def look_at_weights(trial: Trial, found: Tensor) -> Finding | None:
    """The diagnosis for weights of the right shape, in eval mode and without a mask; None if right."""
    right = trial.expected().weights
    if same(found, right):
        return None
    q, k, _ = usual(trial)
    raw = scores(trial, q, k)
    observed = found.double()
    return (
        _no_shares(trial, observed, raw, right)
        or _blocked(observed, right)
        or _scaled(trial, observed, raw)
        or _shared_twice(trial, observed, raw, right)
        or _made_otherwise(trial, observed)
        or _nearly(observed, right)
    )


def _no_shares(trial: Trial, observed: Tensor, raw: Tensor, right: Tensor) -> Finding | None:
    if not bool(observed.isfinite().all()):
        return finding("softmax-overflow") if bool(observed.isnan().any()) else None
    if bool((observed < 0).any()) and _ones(observed.sum(-1)):
        return finding("softmax-missing", "Here some are negative.")
    if _ones(observed.sum(-1)):
        return None
    if observed.shape[-1] == observed.shape[-2] and same(observed.mT, right):
        return finding("weights-shape", "Here queries and keys have changed places.")
    for axis, name in _AXES[observed.dim()].items():
        if observed.shape[axis] > 1 and _ones(observed.sum(axis)):
            return finding("softmax-axis", f"Here they add up to 1 along {name}.")
    if _ones(observed.sum((-2, -1))):
        return finding("softmax-axis", "Here all weights of a sample together make 1.")
    if _ones(observed.sum(tuple(range(1, observed.dim())))) or _ones(observed.sum()):
        return finding("softmax-axis", "Here all weights together make 1.")
    if bool(((observed - right).abs() < 5e-3).all()):
        return finding("softmax-altered")
    sums = observed.sum(-1)
    return finding("softmax-missing", f"Here they make between {sums.min():.3g} and {sums.max():.3g}.")


def _blocked(observed: Tensor, right: Tensor) -> Finding | None:
    causal = torch.ones(observed.shape[-2:]).tril().bool()
    if bool((observed[..., ~causal] == 0).all()) and bool((~causal).any()):
        kept = right * causal
        if same(observed, kept / kept.sum(-1, keepdim=True)):
            return finding("causal-always")
    return None


def _scaled(trial: Trial, observed: Tensor, raw: Tensor) -> Finding | None:
    factor = _factor(observed, raw)
    if factor is None:
        return None
    if math.isclose(factor, trial.sizes.d_k**-0.5, rel_tol=2e-2):
        return None  # the scale is right; something else takes digits away
    if math.isclose(factor, 1.0, rel_tol=1e-3):
        return finding("scale-missing")
    seen = f"Here scores are multiplied by about {factor:.3g}, d_k being {trial.sizes.d_k}."
    return finding("scale-wrong", seen)


def _factor(observed: Tensor, raw: Tensor) -> float | None:
    """The one factor that turns raw scores into these weights' logarithms, if there is one."""
    sure = observed > 1e-6
    if not bool(sure.any()):
        return None
    logs = observed.clamp(min=1e-30).log()
    top = observed.argmax(-1, keepdim=True)
    logs, spread = logs - logs.gather(-1, top), raw - raw.gather(-1, top)
    logs, spread = logs[sure], spread[sure]
    norm = float((spread * spread).sum())
    if norm < 1e-9 or len(logs) < 8:
        return None
    factor = float((logs * spread).sum()) / norm
    fits = (logs - factor * spread).abs().max() <= 1e-3 * (1 + float(logs.abs().max()))
    return factor if bool(fits) and abs(factor) > 1e-6 else None


def _shared_twice(trial: Trial, observed: Tensor, raw: Tensor, right: Tensor) -> Finding | None:
    if same(observed, (raw * trial.sizes.d_k**-0.5).relu().softmax(-1)):
        return finding("activation-added", "Here after the scores.")
    if same(observed, right.softmax(-1)) or same(observed, raw.softmax(-1).softmax(-1)):
        return finding("softmax-twice")
    return None


def _made_otherwise(trial: Trial, observed: Tensor) -> Finding | None:
    q, k, _ = usual(trial)
    if observed.dim() == 4:
        for split in ("unmoved", "interleaved"):
            if same(observed, shares(trial, q, k, split)):
                return finding("heads-split-order")
    for made_q, made_k in pairs(trial, projected(trial)):
        width = made_q.tensor.shape[-1] // (trial.sizes.heads if observed.dim() == 4 else 1)
        if observed.dim() == 4 and made_q.tensor.shape[-1] % trial.sizes.heads:
            continue
        if same(observed, shares(trial, made_q.tensor, made_k.tensor, scale=width**-0.5)):
            return explain({"W_Q": made_q, "W_K": made_k}, trial)
    return None


def explain(made: dict[str, Made], trial: Trial) -> Finding | None:
    """The diagnosis for queries, keys or values (by their usual matrix) that were made otherwise."""
    meant = dict(zip(("W_Q", "W_K", "W_V"), usual_sources(trial), strict=True))
    for way in made.values():
        if way.manner == "transposed":
            return finding("projection-transposed")
        if way.manner == "cut off":
            return finding("activation-added")
    for name, way in made.items():
        if way.manner == "none":
            return finding("projection-unused", f"Here {name} is.")
    used = [way.matrix for way in made.values()]
    if any(way.matrix != name for name, way in made.items()):
        if len(set(used)) == len(used) and set(used) == set(made):
            return finding("projection-swapped")
        stand_ins = tuple((name, way.matrix) for name, way in made.items() if way.matrix != name)
        return replace(finding("projection-reused"), stand_ins=stand_ins)
    return finding("sources-mixed") if any(way.source != meant[name] for name, way in made.items()) else None


def _nearly(observed: Tensor, right: Tensor) -> Finding | None:
    winner = torch.nn.functional.one_hot(right.argmax(-1), right.shape[-1]).double()
    if same(observed, winner):
        return finding("softmax-altered", "Here one key of each query takes everything.")
    return finding("softmax-altered") if bool(((observed - right).abs() < 5e-3).all()) else None


def _ones(sums: Tensor) -> bool:
    return bool(((sums - 1).abs() < 1e-4).all())
