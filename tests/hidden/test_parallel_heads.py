"""The three ways at every size and mask; and how many operations each of them takes, which is the point."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.candidate.accelerator import ACCELERATOR, Accelerator
from grader.candidate.interface import Candidate
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import masks
from tests.support.checks import as_tensor, assert_close, assert_equal
from tests.support.drawing import Draw
from tests.support.heads import SIZES, WAYS, Heads, drawn, operations
from tests.support.layers import EDGES

every_way = pytest.mark.parametrize("way", WAYS)
FORMS = {"query x key": "bool", "1 x 1 x query x key": "int", "batch x 1 x 1 x key": "float"}
FORMS |= {
    "batch x 1 x query x key": "bool",
    "1 x heads x query x key": "int",
    "batch x heads x query x key": "bool",
}


@aspect(
    "shapes",
    "parallel_heads",
    weight=1.2,
    hint="Which of your sizes should have come from q, and which from k or v?",
)
@every_way
@pytest.mark.parametrize("edge", EDGES)
def test_every_way_at_every_size(candidate: Candidate, draw: Draw, way: str, edge: str) -> None:
    """The result is that of the formula at every size: one sample, one head, one token and the like."""
    heads = drawn(draw, replace(SIZES, **EDGES[edge]))
    assert_close(heads.run(candidate, way), heads.expected(), "the result")


@aspect(
    "masking", "parallel_heads", weight=1.8, hint="Which axis of the mask meets which axis of the scores?"
)
@every_way
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_mask(candidate: Candidate, draw: Draw, way: str, form: str) -> None:
    """A mask of each accepted form and dtype blocks the positions in which it is 0, and no others."""
    heads, mask = drawn(draw), masks.drawn(draw, form, SIZES, FORMS[form])
    assert_close(heads.run(candidate, way, mask), heads.expected(mask), "the result")


@aspect("masking", "parallel_heads", hint="How much weight has a blocked position if its score is very high?")
@every_way
def test_a_blocked_position_changes_nothing(candidate: Candidate, draw: Draw, way: str) -> None:
    """However large the key and value of a blocked position are, the result stays as it was."""
    heads, mask = drawn(draw), torch.ones(SIZES.seq_q, SIZES.seq_k)
    mask[:, [0, 3]] = 0
    moved = Heads(heads.q, heads.k.clone(), heads.v.clone())
    moved.k[:, :, [0, 3]] *= 40
    moved.v[:, :, [0, 3]] += 1000
    assert_close(moved.run(candidate, way, mask), heads.expected(mask), "the result")


@aspect("masking", "parallel_heads", weight=0.6, hint="Does a row without an answer touch its neighbours?")
@every_way
def test_a_query_that_may_see_nothing_harms_no_other(candidate: Candidate, draw: Draw, way: str) -> None:
    """Where every key is blocked for one query, the others get what they would have got."""
    heads, mask = drawn(draw), draw.mask(SIZES.seq_q, SIZES.seq_k)
    mask[1] = False
    others = torch.tensor([True, False, True, True, True])[:, None]
    seeing = mask.clone()
    seeing[1] = True
    assert_close(heads.run(candidate, way, mask), heads.expected(seeing), "the result", rows=others)


@aspect("parity", "parallel_heads", weight=1.2, hint="How many digits does each of your steps keep?")
@every_way
def test_every_way_in_double_precision(candidate: Candidate, draw: Draw, way: str) -> None:
    """In float64 the result is that of the formula, and float64."""
    heads, mask = drawn(draw, dtype=torch.float64), draw.mask(SIZES.seq_q, SIZES.seq_k)
    found = heads.run(candidate, way, mask)
    if found.dtype is not torch.float64:
        raise WrongAnswer(f"the result came back as {found.dtype}, the input was float64.")
    assert_close(found, heads.expected(mask), "the result")


@aspect("parity", "parallel_heads", weight=1.2, hint="What is e to the power of 300, and of -300?")
@every_way
@pytest.mark.parametrize("offset", [0.0, 400.0, -400.0])
def test_very_large_scores(candidate: Candidate, draw: Draw, way: str, offset: float) -> None:
    """Scores of several hundred, above or below zero, give the shares that the formula gives."""
    q, k = (draw.quarters(2, 3, length, 16).float() for length in (5, 7))  # d_k = 16: exact in float32
    q[..., 0], k[..., 0] = offset * 4, 1.0
    heads = Heads(q, k * torch.tensor([1.0] + [4.0] * 15), draw.normal(2, 3, 7, 5).float())
    assert_close(heads.run(candidate, way), heads.expected(), "the result")


@aspect("gradients", "parallel_heads", weight=1.2, hint="Can autograd follow every step back to q, k and v?")
@every_way
def test_gradients_of_every_way(candidate: Candidate, draw: Draw, way: str) -> None:
    """q, k and v get the gradients that the formula gives."""
    heads, mask = drawn(draw, dtype=torch.float64), draw.mask(SIZES.seq_q, SIZES.seq_k)
    cotangent = draw.normal(*heads.shape)
    found = candidate.gradients(way, *heads.inputs, mask=mask, cotangents=[cotangent]).inputs
    for place, expected in enumerate(heads.expected_gradients(cotangent, mask)):
        gradient = None if found is None else found[place]
        if gradient is None:
            raise WrongAnswer(f"no gradient reaches {'qkv'[place]}.")
        assert_close(gradient, expected, f"the gradient for {'qkv'[place]}", slack=3)


@aspect("contract", "parallel_heads", weight=1.2, hint="Is there a loop left in it, open or hidden?")
@pytest.mark.parametrize("masked", [False, True], ids=["no mask", "mask"])
@pytest.mark.parametrize("size", ["batch", "heads", "seq_q", "seq_k"])
def test_the_batched_product_takes_the_same_operations_at_every_size(
    candidate: Candidate, draw: Draw, size: str, masked: bool
) -> None:
    """The number of operations of batched_attention depends on no size."""
    few, many = counted(candidate, "batched_attention", draw, size, masked=masked)
    if many > few:
        raise WrongAnswer(f"it takes {few} operations at {size}=3 and {many} at {size}=9.")


def counted(candidate: Candidate, way: str, draw: Draw, size: str, *, masked: bool = False) -> list[int]:
    sizes = [replace(SIZES, **{size: length}) for length in (3, 9)]
    return [operations(candidate, way, draw, one, masked=masked) for one in sizes]


@aspect(
    "contract",
    "parallel_heads",
    weight=2,
    hint="What does your loop run over, and is everything else done at once?",
)
@pytest.mark.parametrize("size", ["batch", "heads", "seq_q", "seq_k"])
@pytest.mark.parametrize(
    ("way", "over"),
    [("looped_attention", "heads"), ("recurrent_attention", "seq_k")],
    ids=["looped", "recurrent"],
)
def test_each_loop_runs_over_what_it_should(
    candidate: Candidate, draw: Draw, way: str, over: str, size: str
) -> None:
    """looped_attention takes more operations for more heads only, recurrent_attention for more keys only."""
    few, many = counted(candidate, way, draw, size)
    if size == over and many - few < 6:  # one at least for each head or key more
        raise WrongAnswer(
            f"{way} takes {few} operations at {size}=3 and {many} at {size}=9: it does not loop."
        )
    if size != over and many > few:
        raise WrongAnswer(f"{way} takes {few} operations at {size}=3 and {many} at {size}=9.")


@aspect(
    "contract", "parallel_heads", weight=0.8, hint="Which of your lines write into a tensor of the caller's?"
)
@every_way
def test_the_arguments_stay_as_they_are(candidate: Candidate, draw: Draw, way: str) -> None:
    """After a call q, k, v and the mask are what they were."""
    heads, mask = drawn(draw), draw.mask(SIZES.seq_q, SIZES.seq_k).float()
    seen = candidate.apply(way, *heads.inputs, mask=mask)
    as_tensor(seen.value, way)
    for name, before, after in zip("qkv", heads.inputs, seen.args, strict=True):
        assert_equal(after, before, f"{name}, after the call,")
    assert_equal(seen.kwargs["mask"], mask, "the mask, after the call,")


@aspect("contract", "parallel_heads", weight=0.8, hint="Which of your tensors did not come from the inputs?")
@every_way
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_kept(candidate: Candidate, draw: Draw, way: str, dtype: torch.dtype) -> None:
    """In bfloat16 and float16 the result has the dtype of the inputs, and about the right numbers."""
    heads = drawn(draw, dtype=dtype)
    found = heads.run(candidate, way)
    if found.dtype is not dtype:
        raise WrongAnswer(f"the result came back as {found.dtype}, the inputs were {dtype}.")
    assert_close(found, heads.expected(), "the result")


@aspect("device", "parallel_heads", hint="On which device was each of your tensors born?")
@pytest.mark.gpu
@every_way
def test_every_way_on_the_accelerator(
    candidate: Candidate, accelerator: Accelerator, draw: Draw, way: str
) -> None:
    """On an accelerator the result is that of the CPU and stays there."""
    heads, mask = drawn(draw), draw.mask(SIZES.seq_q, SIZES.seq_k)
    seen = candidate.apply_on(ACCELERATOR, way, *heads.inputs, mask=mask)
    assert_close(as_tensor(seen.value, way), heads.run(candidate, way, mask), "the result")
    if not all(accelerator.holds(device) for device in seen.devices):
        raise WrongAnswer(f"the inputs were on {accelerator.phrase}, the result is on {seen.devices[0]}.")
