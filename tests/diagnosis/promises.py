"""The promises besides the numbers: parameters, gradients, dtypes, devices, memory, arguments left alone."""

from __future__ import annotations

from typing import Any

import torch

from grader.candidate.accelerator import ACCELERATOR
from grader.candidate.faults import CandidateError, NotUsable, StudentError
from grader.candidate.interface import Model
from tests.diagnosis.altered import same
from tests.diagnosis.findings import Finding, finding
from tests.support import masks
from tests.support.layers import Layer, Trial


def look_at_parameters(layer: Layer, model: Model) -> tuple[list[Finding], bool]:
    """What is amiss with the parameters, and whether known weights can be loaded all the same."""
    try:
        found = model.parameters()
    except NotUsable:
        return [finding("parameter-names", "Here the object is no torch.nn.Module.")], False
    promised = layer.parameter_shapes(layer.sizes)
    missing = [name for name in promised if name not in found]
    if missing:
        has = f"Here {missing[0]} is missing; there is {', '.join(sorted(found)[:6]) or 'none at all'}."
        return [finding("parameter-names", has)], False
    width = layer.sizes.d_model
    if any(tuple(found[n].shape) == (width, width) != shape for n, shape in promised.items()):
        return [finding("width-ignored")], False
    wrong = [name for name, shape in promised.items() if tuple(found[name].shape) != shape]
    if wrong:
        shapes = f"Here {wrong[0]} has {tuple(found[wrong[0]].shape)}, promised is {promised[wrong[0]]}."
        return [finding("parameter-shapes", shapes)], False
    extra = set(found) - set(promised)
    if any(name.removesuffix(".bias") in layer.projections for name in extra):
        return [finding("bias-on")], True
    return ([finding("extra-parameters")] if extra else []), True


def look_at_sharing(layer: Layer) -> Finding | None:
    """Whether two projections or two layers hold one matrix."""
    first = layer.trial()
    layer.trial()
    held = first.model.parameters()
    if any(not torch.equal(held[name], value) for name, value in first.parameters.items()):
        return finding("parameters-shared")
    return None


def look_at_gradients(trial: Trial) -> Finding | None:
    """Whether gradients reach the inputs and every parameter, with and without a mask."""
    cotangent = trial.layer.draw.normal(*trial.layer.output_shape(trial.sizes)).float()
    for mask in (None, masks.drawn(trial.layer.draw, "query x key", trial.sizes, "int")):
        try:
            found = trial.gradients(cotangent, mask)
        except StudentError as error:
            if "leaf" in error.message and "in-place" in error.message:
                return finding("input-modified")
            return finding("gradient-broken")
        arrived = dict(zip(trial.layer.input_names, found.inputs or [], strict=True)) | (
            found.parameters or {}
        )
        expected = trial.expected_gradients(cotangent, mask)
        for name, wanted in expected.items():
            gradient = arrived.get(name)
            if gradient is None or (bool((gradient == 0).all()) and bool((wanted != 0).any())):
                return finding("gradient-cut", f"Here none arrives at {name}.")
    return None


def look_at_arguments(trial: Trial) -> list[Finding]:
    """Whether inputs and masks are left alone, and answers do not depend on earlier calls."""
    layer, found = trial.layer, []
    for dtype in masks.DTYPES:
        mask = masks.drawn(layer.draw, "batch x query x key", trial.sizes, dtype)
        try:
            seen = trial.model.watch("forward", *trial.inputs, mask=mask)
        except CandidateError:
            continue
        changed = [torch.equal(a, b) for a, b in zip(seen.args, trial.inputs, strict=True)]
        if not all(changed):
            found.append(finding("input-modified"))
        if not (isinstance(seen.kwargs["mask"], torch.Tensor) and torch.equal(seen.kwargs["mask"], mask)):
            found.append(finding("mask-modified"))
        if found:
            break
    return found


def look_at_memory(layer: Layer) -> Finding | None:
    """Whether a call's answer depends on the calls before it."""
    trial = layer.trial()
    mask = masks.drawn(layer.draw, "batch x query x key", trial.sizes)
    moved = trial.resized(layer.fit(batch=3, seq_q=4, seq_k=6))
    alike = trial.resized(trial.sizes)
    for call, with_mask in ((trial, mask), (trial, None), (moved, None), (alike, None), (trial, mask)):
        fresh = _answer(call.again(), with_mask)
        here = _answer(call, with_mask)
        if fresh is not None and (here is None or not _alike(here, fresh)):
            return finding("state-kept")
    return None


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same numbers, and NaN in the same places."""
    if one.shape != other.shape or not torch.equal(one.isnan(), other.isnan()):
        return False
    return same(one.nan_to_num(), other.nan_to_num())


def _answer(trial: Trial, mask: torch.Tensor | None) -> torch.Tensor | None:
    try:
        return trial.run(mask).output
    except (CandidateError, AssertionError):
        return None


def look_at_training(layer: Layer) -> Finding | None:
    """Whether gradients arrive in train mode, with so little dropout that nothing is dropped."""
    trial = layer.trial(dropout=1e-9)
    trial.model.train()
    return look_at_gradients(trial)


def look_at_defaults(layer: Layer) -> Finding | None:
    """Whether the layer can be built with its defaults, and by the names of its arguments."""
    names = dict(zip(layer.argument_names, layer.arguments(layer.sizes), strict=True))
    try:
        layer.candidate.build(layer.class_name, **names)
    except StudentError:
        return finding("argument-names")
    if "d_k" not in names:
        return None
    try:
        found = layer.candidate.build(layer.class_name, layer.sizes.d_model).parameters()
    except StudentError:
        return finding("constructor-crash", "Here without d_k, which has a default.")
    square = (layer.sizes.d_model, layer.sizes.d_model)
    if any(tuple(value.shape) != square for value in found.values()):
        return finding("width-ignored", "Here when d_k is left to its default.")
    return None


def look_at_dtypes(layer: Layer) -> Finding | None:
    """Whether every dtype works and comes back."""
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        trial = layer.trial(dtype=dtype)
        mask = None if dtype is torch.float16 else masks.drawn(layer.draw, "query x key", trial.sizes)
        try:
            found = trial.run(mask)
        except CandidateError:
            return finding("dtype-changed", f"Here {dtype} stops with an error.")
        if any(part.dtype is not dtype for part in found):
            return finding("dtype-changed", f"Here {dtype} comes back as {found.output.dtype}.")
    return None


def look_at_device(layer: Layer) -> Finding | None:
    """Whether the layer runs on an accelerator, real or simulated, and leaves its answer there."""
    accelerator = layer.candidate.accelerator()
    trial = layer.trial().again()
    trial.model.to(device=ACCELERATOR)
    mask = masks.drawn(layer.draw, "query x key", trial.sizes)
    for keywords in ({}, {"mask": mask}):
        try:
            seen = trial.model.watch("forward", *trial.inputs, **keywords)
        except StudentError:
            return finding("device-fixed")
        if not all(map(accelerator.holds, seen.devices)):
            return finding("device-fixed", "Here the answer comes back from there.")
    return None


def look_at_refusal(layer: Layer) -> Finding | None:
    """Whether features that cannot be shared out are refused as promised."""
    for features, heads in ((10, 3), (12, 5), (4, 8)):
        try:
            layer.candidate.build(layer.class_name, features, heads)
        except StudentError as error:
            if error.kind in ("AssertionError", "ValueError"):
                continue
        except CandidateError:
            continue
        return finding("indivisible-accepted")
    return None


def look_at_names(trial: Trial) -> Finding | None:
    """Whether the arguments have the promised names."""
    named: dict[str, Any] = dict(zip(trial.layer.input_names, trial.inputs, strict=True))
    mask = masks.drawn(trial.layer.draw, "query x key", trial.sizes)
    try:
        trial.model(**named, mask=mask)
        trial.model(*trial.inputs, mask)
    except StudentError as error:
        if error.kind == "TypeError" and "argument" in error.message:
            return finding("argument-names")
    return None
