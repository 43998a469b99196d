"""What an output looks like that does not follow from the weights returned with it."""

from __future__ import annotations

from collections.abc import Iterator

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tests.diagnosis.altered import SPLITS, projected, same, split_usual, usual, usual_sources
from tests.diagnosis.findings import Finding, finding
from tests.diagnosis.weights import explain
from tests.support.layers import Trial


def look_at_output(trial: Trial, output: Tensor, weights: Tensor) -> Finding | None:
    """The diagnosis for an output of the right shape, given the weights; None if it follows from them."""
    _, _, v = usual(trial)
    observed = output.double()
    mixed = weights.double()
    if same(observed, _finished(trial, _mixed(trial, mixed, v)), _LOOSE):
        return None
    if weights.dim() == 4:
        found = _joined_otherwise(trial, observed, mixed, v)
        if found is not None:
            return found
    if weights.shape[-1] == weights.shape[-2]:
        turned = _finished(trial, _mixed(trial, mixed.mT, v))
        if same(observed, turned, _LOOSE):
            return finding("weights-transposed")
    return _values_otherwise(trial, observed, mixed)


_LOOSE = 1e-4  # the weights compared with are rounded already


def _mixed(trial: Trial, weights: Tensor, v: Tensor) -> Tensor:
    """Values mixed with these weights; heads, if any, side by side (batch, seq_q, width)."""
    if weights.dim() == 3:
        return weights @ v
    return (weights @ split_usual(v, trial.sizes.heads)).movedim(1, 2).flatten(2)


def _finished(trial: Trial, joined: Tensor) -> Tensor:
    last = trial.parameters.get("W_O.weight")
    return joined if last is None else F.linear(joined, last.double())


def _joined_otherwise(trial: Trial, observed: Tensor, weights: Tensor, v: Tensor) -> Finding | None:
    usual_join = _mixed(trial, weights, v)
    if same(observed, usual_join, _LOOSE):
        return finding("output-projection-missing")
    for share in (0.6, 1 / 0.6):  # the layer was built with dropout=0.4
        if same(observed, share * _finished(trial, usual_join), _LOOSE):
            return finding("dropout-unscaled", "Here the output is scaled in eval mode instead.")
    last = trial.parameters["W_O.weight"].double()
    if same(observed, usual_join @ last, _LOOSE):
        return finding("projection-transposed")
    if same(observed, _finished(trial, usual_join).relu(), _LOOSE):
        return finding("activation-added")
    for id, joined in _joins(trial, weights, v):
        for end in (_finished(trial, joined), joined):
            if same(observed, end, _LOOSE):
                return finding(id)
    return None


def _joins(trial: Trial, weights: Tensor, v: Tensor) -> Iterator[tuple[str, Tensor]]:
    heads = trial.sizes.heads
    shape = (trial.sizes.batch, trial.sizes.seq_q, trial.sizes.d_model)
    by_head = weights @ split_usual(v, heads)  # (batch, heads, seq_q, d_k)
    yield "heads-merge-order", by_head.reshape(shape)
    yield "heads-merge-order", by_head.movedim(1, -1).reshape(shape)
    yield "heads-merge-order", by_head.mT.reshape(shape)
    for one in (by_head.mean(1), by_head.sum(1), by_head[:, 0], by_head.amax(1)):
        yield "heads-mixed", one.repeat(1, 1, heads)
        yield "heads-mixed", one.repeat_interleave(heads, -1)
    for name in ("unmoved", "interleaved"):
        other = weights @ SPLITS[name](v, heads)
        yield "heads-split-order", other.movedim(1, 2).flatten(2)


def _values_otherwise(trial: Trial, observed: Tensor, weights: Tensor) -> Finding | None:
    source = usual_sources(trial)[2]
    ways = [way for way in projected(trial) if way.tensor.shape[1] == weights.shape[-1]]
    ways.sort(key=lambda way: 2 * way.ways_off + (way.matrix != "W_V") + (way.source != source))
    for way in ways:
        if weights.dim() == 4 and way.tensor.shape[-1] % trial.sizes.heads:
            continue
        joined = _mixed(trial, weights, way.tensor)
        if joined.shape == observed.shape and same(observed, _finished(trial, joined), _LOOSE):
            return explain({"W_V": way}, trial)
        if joined.shape == observed.shape and weights.dim() == 4 and same(observed, joined, _LOOSE):
            return finding("output-projection-missing")
    return None
