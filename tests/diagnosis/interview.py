"""Asks a candidate one question after another until what is wrong has a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.candidate.faults import CandidateError, NotUsable, Refused, StudentError
from grader.candidate.interface import Model
from tests.diagnosis.altered import same
from tests.diagnosis.dropping import look_at_dropout
from tests.diagnosis.findings import Finding, finding
from tests.diagnosis.masking import look_at_masks
from tests.diagnosis.outputs import look_at_output
from tests.diagnosis.promises import (
    look_at_arguments,
    look_at_defaults,
    look_at_device,
    look_at_dtypes,
    look_at_gradients,
    look_at_memory,
    look_at_names,
    look_at_parameters,
    look_at_refusal,
    look_at_sharing,
    look_at_training,
)
from tests.diagnosis.weights import look_at_weights
from tests.support.checks import as_attention
from tests.support.extreme_scores import steep
from tests.support.layers import Layer, MultiHeadAttentionLayer, Trial
from tests.support.masks import drawn
from tests.support.oracle import Attention

# no square, no size twice: d_k 6, so that a scale built in for some other width shows
_ONE_HEAD = {"batch": 2, "seq_q": 5, "seq_k": 7, "d_k": 6, "d_model": 10}
_HEADS = {"batch": 2, "seq_q": 5, "seq_k": 7, "d_k": 6, "heads": 3}


def interview(layer: Layer) -> list[Finding]:
    """The diagnoses of a layer, most telling first; none for a right one.

    Raises CandidateError or AssertionError only when the candidate can no longer be asked.
    """
    layer.candidate.load(layer.class_name)  # a file that cannot be imported says so itself
    model: Model | None = None
    try:
        model = layer.build()
        model.parameters()
    except Refused:
        return [finding("library-attention")]
    except StudentError:
        named = dict(zip(layer.argument_names, layer.arguments(layer.sizes), strict=True))
        by_name = _works(lambda: layer.candidate.build(layer.class_name, **named))
        return [finding("argument-names" if by_name else "constructor-crash")]
    except NotUsable:
        if model is None:  # it is no class, which the message says already
            return []
    amiss, loadable = look_at_parameters(layer, model)
    if not loadable:
        return _first_contact(layer, amiss)
    try:
        return list(dict.fromkeys([*amiss, *_asked(layer)]))
    except Refused:
        return [finding("library-attention"), *amiss]


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except (CandidateError, AssertionError):
        return False
    return True


def _first_contact(layer: Layer, amiss: list[Finding]) -> list[Finding]:
    """Without known weights only the shape of what is returned can be judged."""
    shapes = layer.input_shapes(layer.sizes)
    try:
        value = layer.build()(*(layer.draw.normal(*shape).float() for shape in shapes))
        as_attention(value)
    except AssertionError:
        return [*amiss, finding("returns-no-pair")]
    except CandidateError:
        pass
    return amiss


def _asked(layer: Layer) -> list[Finding]:
    """Known weights can be loaded: what do calls look like?"""
    try:
        shared = look_at_sharing(layer)
        trial = _trial(layer)
    except NotUsable:  # the second layer has the first one's matrices
        return [finding("parameters-shared")]
    except StudentError as error:
        return [finding("argument-names" if error.kind == "TypeError" else "constructor-crash")]
    if shared is not None:
        return [shared]
    try:
        value = trial.model(*trial.inputs)
        again = trial.model(*trial.inputs)
    except StudentError as error:
        return [_stopped(layer, trial, error)]
    try:
        first, second = as_attention(value), as_attention(again)
    except AssertionError:
        return [finding("returns-no-pair")]
    misshapen = _shapes(trial, first)
    if misshapen is not None:
        return _at_equal_widths(layer) or [misshapen] if misshapen.id == "width-ignored" else [misshapen]
    if not same(second.output, first.output):
        return [finding("dropout-in-eval" if _has_dropout(layer) else "state-kept")]
    kept = look_at_memory(layer)
    if kept is not None:
        return [kept]
    touched = look_at_arguments(trial)
    found = [*touched, *_numbers(trial, first)]
    if found or not _right(trial, first):
        return found
    return _promises(layer, trial, value)


def _at_equal_widths(layer: Layer) -> list[Finding]:
    """What the numbers look like where d_k and d_model are equal, so that no width can be wrong."""
    trial = _trial(layer, d_k=10)
    found = trial.run() if _goes(trial) else None
    return _numbers(trial, found) if found is not None and _shapes(trial, found) is None else []


def _has_dropout(layer: Layer) -> bool:
    return isinstance(layer, MultiHeadAttentionLayer)


def _trial(layer: Layer, **changes: int) -> Trial:
    sizes = layer.fit(**{**(_HEADS if _has_dropout(layer) else _ONE_HEAD), **changes})
    dropout: dict[str, Any] = {"dropout": 0.4} if _has_dropout(layer) else {}
    return layer.trial(sizes, **dropout)


def _shapes(trial: Trial, found: Attention) -> Finding | None:
    layer, sizes = trial.layer, trial.sizes
    output, weights = tuple(found.output.shape), tuple(found.weights.shape)
    right_output, right_weights = layer.output_shape(sizes), layer.weights_shape(sizes)
    if (output, weights) == (right_output, right_weights):
        return None
    if (weights, output) == (right_output, right_weights):
        return finding("returns-no-pair", "Here the weights come first.")
    if len(right_weights) == 4 and weights[-2:] == (sizes.heads, sizes.heads):
        return finding("heads-mixed", "Here heads attend to heads.")
    same_length = weights[-2:] in ((sizes.seq_q, sizes.seq_q), (sizes.seq_k, sizes.seq_k))
    if weights[:-2] == right_weights[:-2] and sizes.seq_q != sizes.seq_k and same_length:
        return finding("sources-mixed", "Here queries and keys are equally many.")
    if weights != right_weights:
        return finding("weights-shape", f"Here they are {weights} instead of {right_weights}.")
    if len(output) == 3 and output[:2] == right_output[:2] and len(right_weights) == 3:
        wide = f"Here the output is {output[-1]} wide instead of {right_output[-1]}."
        return finding("width-ignored", wide)
    return finding("output-shape", f"Here it is {output} instead of {right_output}.")


def _numbers(trial: Trial, first: Attention) -> list[Finding]:
    """What the numbers of one call without a mask, and of masked ones, look like."""
    weights = look_at_weights(trial, first.weights)
    output = look_at_output(trial, first.output, first.weights)
    if (weights or output) is None and not _right(trial, first):
        return [finding("batch-mixed")] if _mixes_samples(trial, first) else []
    if weights is not None and output is not None:
        if weights.id in ("heads-split-order", "sources-mixed"):
            output = None  # what mixed the queries mixed the values as well
        elif len(weights.stand_ins) == 1 and output.stand_ins == (weights.stand_ins[0][::-1],):
            return [finding("projection-swapped")]
    masks = look_at_masks(trial.layer, trial, first.weights)
    found = [one for one in (weights, output, masks) if one is not None]
    overflow = None if found else _overflow(trial.layer)
    return found or ([overflow] if overflow else [])


def _right(trial: Trial, found: Attention) -> bool:
    expected = trial.expected()
    return same(found.weights, expected.weights) and same(found.output, expected.output, 1e-4)


def _mixes_samples(trial: Trial, together: Attention) -> bool:
    alone = as_attention(trial.model(*(x[1:2] for x in trial.inputs)))
    return not same(alone.output, together.output[1:2])


def _overflow(layer: Layer) -> Finding | None:
    trial = steep(layer, [300.0, -300.0, 0.0, 150.0, -150.0][: layer.sizes.seq_q])
    expected, found = trial.expected(), trial.run()
    if found.weights.shape == expected.weights.shape and not same(found.weights, expected.weights, 1e-3):
        return finding("softmax-overflow")
    return None


def _promises(layer: Layer, trial: Trial, value: object) -> list[Finding]:
    """The numbers are right at these sizes: what else may be wrong."""
    found: list[Finding | None] = []
    if not isinstance(value, tuple):
        found.append(finding("returns-no-pair", f"Here it is a {type(value).__name__}."))
    found += [look_at_gradients(trial), look_at_dtypes(layer)]
    if not any(found):
        found += [_other_sizes(layer), look_at_device(layer)]
    if isinstance(layer, MultiHeadAttentionLayer):
        found += [look_at_dropout(layer), look_at_training(layer), look_at_refusal(layer), _parts(layer)]
    found += [look_at_names(trial), look_at_defaults(layer)]
    if not any(found):
        found.append(_blocked_row(layer))
    return [one for one in found if one is not None]


def _other_sizes(layer: Layer) -> Finding | None:
    """Sizes at which a right layer gives the formula's answer, too."""
    changes: list[dict[str, int]] = [{"batch": 1}, {"heads": 1}, {"seq_q": 1}, {"seq_k": 1}, {"batch": 3}]
    for change in [*changes, {"batch": 5}, {"seq_q": 4, "seq_k": 9}, {"d_k": 4}, {"d_k": 16}, {"d_k": 64}]:
        trial = _trial(layer, **change)
        try:
            found = trial.run()
        except (CandidateError, AssertionError):
            return finding("sizes-assumed")
        misshapen = _shapes(trial, found)
        if misshapen is not None:
            return misshapen
        if not _right(trial, found):
            return look_at_weights(trial, found.weights) or finding("sizes-assumed")
    trial = _trial(layer)
    turned = trial.with_inputs(*(x.transpose(1, 2).contiguous().transpose(1, 2) for x in trial.inputs))
    return None if _goes(turned) and _right(turned, turned.run()) else finding("memory-order")


def _parts(layer: Layer) -> Finding | None:
    """Whether query, key and value keep their parts when some of them are the same tensor."""
    trial = _trial(layer, seq_q=6, seq_k=6)
    query, key, value = trial.inputs
    for inputs in ((query, query, value), (query, key, key), (query, query, query), (query, key, query)):
        other = trial.with_inputs(*inputs)
        if not (_goes(other) and _right(other, other.run())):
            return finding("sources-mixed", "Here when two of the inputs are one and the same.")
    return None


def _stopped(layer: Layer, trial: Trial, error: StudentError) -> Finding:
    """Every call at the usual sizes stops: find the circumstances in which it does not."""
    if "cuda" in error.message.lower() or any(".cuda(" in line.text for line in error.lines):
        return finding("device-fixed", "Here on a GPU, by name.")
    if _goes(trial, drawn(layer.draw, "query x key", trial.sizes, "int")):
        return finding("mask-required")
    named = dict(zip(layer.input_names, trial.inputs, strict=True))
    if _works(lambda: as_attention(trial.model(**named))):
        return finding("argument-names", "Here they are taken in another order.")
    for change in ({"d_model": 6}, {"d_k": 10}, {"d_k": 4}) if not _has_dropout(layer) else ():
        square = _trial(layer, **change)
        if square.sizes.d_k == square.sizes.d_model and _goes(square):
            found = square.run()
            told = look_at_weights(square, found.weights) or look_at_output(square, *found)
            return told or finding("width-ignored")
    equal = {"seq_q": 5, "seq_k": 5}
    for change in (
        equal,
        {"batch": 1},
        {**equal, "batch": 5},
        {"batch": 1, **equal},
        {"batch": 3},
        {"heads": 1},
    ):
        other = _trial(layer, **change)
        if _goes(other):
            found = other.run()
            told = None
            if _shapes(other, found) is None and "seq_k" in change:
                told = look_at_weights(other, found.weights) or look_at_output(other, *found)
            return told or finding("sizes-assumed")
    return finding("raises")


def _goes(trial: Trial, mask: Tensor | None = None) -> bool:
    return _works(lambda: trial.run(mask))


def _blocked_row(layer: Layer) -> Finding | None:
    trial = layer.trial()
    mask = drawn(layer.draw, "batch x query x key", trial.sizes)
    mask[0, 1] = False
    if not _goes(trial, mask):
        return finding("mask-crash", "Here when one query may see nothing.")
    found = trial.run(mask)
    seeing = mask.clone()
    seeing[0, 1] = True
    rows = mask.any(-1)
    if not same(found.output[rows], trial.run(seeing).output[rows]):
        return finding("mask-ignored", "Here when one query may see nothing.")
    nothing = found.weights[0, ..., 1, :].isnan().any() and found.output[0, 1].isfinite().all()
    return finding("blocked-row-inconsistent") if bool(nothing) else None
