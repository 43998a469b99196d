"""What a mask does to a layer's own weights, when it is not what the mask rule says."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from grader.candidate.faults import StudentError
from tests.diagnosis.altered import same, scores, usual
from tests.diagnosis.findings import Finding, finding
from tests.support import masks
from tests.support.extreme_scores import steep
from tests.support.layers import Layer, Trial


def look_at_masks(layer: Layer, trial: Trial, base: Tensor) -> Finding | None:
    """The diagnosis of how masks act; ``base`` are the layer's own weights without one. None if well."""
    forms = masks.FORMS_3D + (masks.FORMS_4D if base.dim() == 4 else ())
    told: list[Finding] = []
    crashed: list[str] = []
    unnamed = False
    for form in forms:
        for dtype in masks.DTYPES:
            mask = masks.drawn(layer.draw, form, trial.sizes, dtype)
            try:
                found = trial.run(mask)
            except AssertionError:
                continue
            except StudentError as error:
                if error.kind == "TypeError" and "argument" in error.message:
                    return finding("argument-names")
                crashed.append(f"{dtype} {form}")
                continue
            weights = found.weights
            if weights.shape == base.shape and same(weights, masks.applied(base, mask)):
                continue
            one = _one_mask(trial, mask, base, weights, found.output)
            if one is None:
                unnamed = True
            else:
                told.append(one)
    for one in sorted(told, key=lambda one: one.id in ("mask-ignored", "mask-nan")):
        mild = one.id == "mask-fill-too-mild"
        return finding("mask-added") if mild and _doubles(layer, trial) else one
    if unnamed:
        return None
    elsewhere = _elsewhere(layer)
    if crashed and (elsewhere is None or elsewhere.id == "mask-crash"):
        return finding("mask-crash", f"Here: a mask that is {crashed[0]}.")
    return elsewhere or _low_scores(layer) or _other_values(layer)


def _doubles(layer: Layer, trial: Trial) -> bool:
    """Whether a mask of 2 counts for more than a mask of 1."""
    mask = masks.drawn(layer.draw, "query x key", trial.sizes, "float")
    try:
        return not same(trial.weights(mask * 2), trial.weights(mask))
    except (AssertionError, StudentError):
        return False


def _one_mask(trial: Trial, mask: Tensor, base: Tensor, found: Tensor, output: Tensor) -> Finding | None:
    if found.shape != base.shape:
        return finding("mask-wrong-axis")
    observed = found.double()
    causal = torch.ones(base.shape[-2:]).tril().bool()
    if _shares_alike(observed, base.double() * _shaped(mask, base) * causal):
        return finding("causal-always")
    if bool(observed.isnan().any()):
        return finding("mask-nan")
    if same(observed, base):
        ignored = same(output, trial.run().output, 1e-5)
        return finding("mask-ignored" if ignored else "mask-on-values")
    allowed = _shaped(mask, base)
    inverted = base.double() * ~allowed
    if _shares_alike(observed, inverted):
        return finding("mask-inverted")
    if same(observed, base.double() * allowed):
        return finding("mask-after-softmax", "Here they were set to 0.")
    if bool((~observed.isfinite()).any()) or bool((observed < 0).any()):
        return finding("mask-after-softmax", "Here they are no longer shares at all.")
    if same(observed[allowed], base[allowed]):
        return finding("mask-after-softmax")
    if _added(trial, observed, base, allowed):
        return finding("mask-added")
    for other in _misread(mask, base, trial):
        if _shares_alike(observed, base.double() * other):
            return finding("mask-wrong-axis")
    if _shares_alike(observed, base.double() * causal):
        return finding("causal-always")
    q, k, _ = usual(trial)
    if _shares_alike(observed, scores(trial, q, k).softmax(-1) * allowed):
        return finding("scale-missing", "Here only under a mask.")
    blocked_positive = bool((observed[~allowed] > 0).any())
    if blocked_positive and _keeps_proportions(observed, base, allowed):
        return finding("mask-fill-too-mild")
    if blocked_positive and bool((observed[allowed] == 0).any()):
        return finding("mask-wrong-axis")
    return None


def _shaped(mask: Tensor, base: Tensor) -> Tensor:
    shaped = mask[:, None] if base.dim() == 4 and mask.dim() == 3 else mask
    return (shaped != 0).expand(base.shape)


def _shares_alike(observed: Tensor, kept: Tensor) -> bool:
    """Whether the rows that keep anything are shared out like ``kept``."""
    totals = kept.sum(-1, keepdim=True)
    rows = (totals > 0).expand(kept.shape)
    expected = kept / totals.clamp(min=1e-12)
    return bool(rows.any()) and same(observed[rows], expected[rows])


def _keeps_proportions(observed: Tensor, base: Tensor, allowed: Tensor) -> bool:
    kept = observed * allowed
    return _shares_alike(kept / kept.sum(-1, keepdim=True).clamp(min=1e-12), base.double() * allowed)


def _added(trial: Trial, observed: Tensor, base: Tensor, allowed: Tensor) -> bool:
    number = allowed.double()
    q, k, _ = usual(trial)
    logits = scores(trial, q, k) * trial.sizes.d_k**-0.5
    if same(observed, (logits * number).softmax(-1)):
        return False  # the same as a fill of 0: which of the two it is cannot be seen
    if same(observed, (base.double().log() + number).softmax(-1)):
        return True
    products = (logits * (1 - number), logits - number)
    return any(same(observed, product.softmax(-1)) for product in products)


def _misread(mask: Tensor, base: Tensor, trial: Trial) -> Iterator[Tensor]:
    """The mask as it looks when its axes meet the wrong axes of the weights."""
    allowed = (
        (mask != 0).expand(*([1] * (base.dim() - mask.dim())), *mask.shape) if mask.dim() == 2 else mask != 0
    )
    if base.dim() == 4 and allowed.dim() == 3:
        heads, batch = trial.sizes.heads, trial.sizes.batch
        full = allowed.expand(batch, trial.sizes.seq_q, trial.sizes.seq_k)
        yield full.repeat(heads, 1, 1).view(batch, heads, *full.shape[1:])  # samples and heads out of step
        yield full.repeat_interleave(heads, 0).view(heads, batch, *full.shape[1:]).transpose(0, 1)
        allowed = allowed[:, None]
    for sample in range(allowed.shape[0] if allowed.shape[0] > 1 else 0):
        yield allowed[sample : sample + 1].expand(base.shape)  # one sample's mask for all
    if base.dim() == 4:
        full = allowed.expand(base.shape)
        only_first = torch.ones_like(full)
        only_first[:, :1] = full[:, :1]
        yield only_first
        yield full[:, :1].expand(base.shape)
    full = allowed.expand(base.shape)
    if base.shape[-1] == base.shape[-2]:
        yield full.mT
    yield full[..., :1, :].expand(base.shape)  # the first query's row for every query
    yield full.any(-2, keepdim=True).expand(base.shape)


def _elsewhere(layer: Layer) -> Finding | None:
    """Masks that are misread only when sizes happen to be equal, or are others."""
    changes: list[dict[str, int]] = [{"batch": 1}, {"batch": layer.sizes.heads}, {"batch": layer.sizes.seq_q}]
    for change in [*changes, {"seq_k": layer.sizes.seq_q}, {"batch": 3, "seq_q": 4, "seq_k": 6}]:
        trial = layer.trial(layer.fit(**change))
        for form in masks.FORMS_3D:
            mask = masks.drawn(layer.draw, form, trial.sizes)
            try:
                if not same(trial.weights(mask), masks.applied(trial.weights(), mask)):
                    return finding("mask-wrong-axis", "Here it happens when two sizes are equal.")
            except AssertionError:
                return None  # a matter of shapes, mask or no mask
            except StudentError:
                return finding(
                    "mask-crash", f"Here: a mask that is {form}, with a batch of {trial.sizes.batch}."
                )
    return None


def _low_scores(layer: Layer) -> Finding | None:
    for low in (0, -100, -20_000):
        trial = steep(layer, [low] * layer.sizes.seq_q)
        mask = masks.drawn(layer.draw, "query x key", trial.sizes)
        try:
            found = trial.weights(mask)
        except AssertionError:
            return None
        if bool((found[(mask == 0).expand(found.shape)] > 0).any()):
            return finding("mask-fill-too-mild", f"Here with scores around {low:,}.")
    return None


def _other_values(layer: Layer) -> Finding | None:
    """Anything but 0 may be seen: masks of 2, -1 and 0.5."""
    trial = layer.trial()
    for dtype, values in (("int", [2, -1, 3]), ("float", [2.0, -1.0, 0.5])):
        mask = masks.drawn(layer.draw, "query x key", trial.sizes, dtype)
        numbers = torch.tensor(values).to(mask.dtype)[torch.arange(mask.numel()).reshape(mask.shape) % 3]
        try:
            if not same(trial.weights(mask * numbers), masks.applied(trial.weights(), mask)):
                return finding("mask-values")
        except (AssertionError, StudentError):
            return None
    return None
