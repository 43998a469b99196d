"""How dropout acts, when it is not on whole links, in train mode, at the probability asked for."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.diagnosis.altered import same
from tests.diagnosis.findings import Finding, finding
from tests.support.checks import as_attention
from tests.support.dropped_weights import Links
from tests.support.layers import Layer

_P = 0.4


def look_at_dropout(layer: Layer) -> Finding | None:
    """The diagnosis of a multi-head layer's dropout; None if well. Its eval mode is known to be right."""
    trial = layer.trial(layer.fit(batch=4), dropout=_P)
    in_eval = trial.output()
    trial.model.train()
    first, second = trial.output(), trial.output()
    if same(first, in_eval):
        if not same(trial.weights(), trial.weights()):
            return finding("dropout-misplaced", "Here it acts on the returned weights only.")
        return finding("dropout-missing" if _never_drops(layer) else "dropout-lost")
    if same(first, second):
        return finding("dropout-not-random")
    still = layer.trial(dropout=0.0)
    at_rest = still.output()
    still.model.train()
    if not same(still.output(), at_rest):
        return finding("dropout-probability", "Here something is dropped with a probability of 0.")
    return _links(layer) or _default(layer)


def _never_drops(layer: Layer) -> bool:
    """Whether a layer that was never in eval mode drops nothing in its first calls."""
    sizes = layer.fit(batch=4)
    model = layer.candidate.build(layer.class_name, *layer.arguments(sizes), dropout=_P)
    inputs = [layer.draw.normal(*shape).float() for shape in layer.input_shapes(sizes)]
    return same(as_attention(model(*inputs)).output, as_attention(model(*inputs)).output)


def _default(layer: Layer) -> Finding | None:
    links = Links(layer, None, batch=40)
    dropped = links.effective()[0].abs() < links.weights * 1e-3
    share = float(dropped.double().mean())
    if abs(share - 0.1) > 6 * (0.09 / dropped.numel()) ** 0.5:
        return finding("dropout-probability", f"Here {share:.0%} instead of 10% when nothing is said.")
    return None


def _links(layer: Layer) -> Finding | None:
    for probability in (_P, 0.75):
        links = Links(layer, probability, batch=40)
        one, two = links.effective()
        if not same(one, two):
            return finding("dropout-misplaced")
        dropped = one.abs() < links.weights * 1e-3
        if any(bool((dropped == dropped.narrow(axis, 0, 1)).all()) for axis in (2, 3)):
            return finding("dropout-misplaced", "Here whole rows or columns go together.")
        share = float(dropped.double().mean())
        bound = 6 * (probability * (1 - probability) / dropped.numel()) ** 0.5
        if abs(share - probability) > bound:
            return finding("dropout-probability", f"Here {share:.0%} instead of {probability:.0%}.")
        kept = torch.where(dropped, torch.zeros_like(one), one)
        if not same(kept, torch.where(dropped, 0.0, links.weights / (1 - probability)), 1e-4):
            return _scaling(kept, links.weights, dropped)
    return None


def _scaling(kept: Tensor, weights: Tensor, dropped: Tensor) -> Finding | None:
    plain = torch.where(dropped, 0.0, weights)
    renewed = plain / plain.sum(-1, keepdim=True).clamp(min=1e-12)
    if same(kept, plain, 1e-4):
        return finding("dropout-unscaled")
    if same(kept, renewed, 1e-3):
        return finding("dropout-unscaled", "Here they are made to add up to 1 again.")
    return None
