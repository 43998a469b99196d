"""Values across the wall, whichever way the candidate runs: in and out unchanged, or not at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from kinds import KINDS, open_zoo, same

from grader.candidate.faults import NotUsable
from grader.candidate.interface import Candidate
from grader.candidate.values import CROSSING_DTYPES, Opaque


@pytest.fixture(scope="module", params=KINDS)
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    with open_zoo(request.param, tmp_path_factory.mktemp("submission")) as candidate:
        yield candidate


@pytest.fixture
def candidate(zoo: Candidate) -> Candidate:
    zoo.begin(seed=7)
    return zoo


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -(2**63),
        2**64 - 1,
        1.5,
        math.inf,
        -math.inf,
        math.nan,
        "",
        'straße\n"\0',
        (),
        (1, (2, [3, None])),
        [[], (), {}],
        {"a": (1,), "$": "tensor"},
        {3: "three"},
        [torch.ones(2), {"t": torch.zeros(1, dtype=torch.int8)}],
    ],
    ids=repr,
)
def test_plain_data_crosses_both_ways_unchanged(candidate: Candidate, value: Any) -> None:
    assert same(candidate.apply("echo", value).value, value)


@pytest.mark.parametrize("dtype", sorted(CROSSING_DTYPES, key=str), ids=str)
def test_every_dtype_crosses_both_ways_in_every_shape(candidate: Candidate, dtype: torch.dtype) -> None:
    tensors = [(torch.rand(shape) * 5).to(dtype) for shape in [(), (0,), (2, 0, 3), (1,), (2, 3)]]
    assert same(candidate.apply("echo", tensors).value, tensors)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3, 2).T,
        torch.ones(2, 3, 4).transpose(0, 2),
        torch.ones(4, 6)[:, ::2],
        torch.ones(2, 1, 3).expand(2, 5, 3),
        torch.ones(1, 1).expand(3, 4),
        torch.ones(2, 3, 4).permute(2, 0, 1)[1:, :, ::2],
    ],
    ids=lambda tensor: f"{tuple(tensor.shape)}-{tensor.stride()}",
)
def test_an_input_keeps_its_strides(candidate: Candidate, tensor: torch.Tensor) -> None:
    shape, strides, contiguous = candidate.apply("layout", tensor).value
    assert (shape, strides, contiguous) == (list(tensor.shape), list(tensor.stride()), False)
    assert same(candidate.apply("echo", tensor).value, tensor)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("subclass", torch.arange(6.0).view(2, 3)),
        ("parameter", torch.arange(6.0).view(2, 3)),
        ("sharing", [torch.arange(4.0), torch.arange(1.0, 4.0), torch.arange(4.0)]),
        ("conjugate", torch.tensor([-2.0, 4.0])),
        ("transposed", torch.arange(6.0).view(2, 3).T),
        ("expanded", torch.ones(2, 3)),
        ("point", (1, [2])),
        ("size", (2, 3)),
        ("ordered", {"a": 1}),
        ("int", 1),
        ("str", "true"),
        ("surrogate", "?!"),
    ],
)
def test_subclasses_come_back_as_what_they_are(candidate: Candidate, name: str, expected: Any) -> None:
    assert same(candidate.apply("strange", name).value, expected)


@pytest.mark.parametrize(
    "name",
    [
        "object",
        "set",
        "sparse",
        "complex",
        "meta",
        "dimensions",
        "huge",
        "metaclass",
        "function",
        "module",
        "half",
    ],
)
def test_anything_else_comes_back_as_the_name_of_its_type(candidate: Candidate, name: str) -> None:
    value = candidate.apply("unspeakable", name).value
    assert type(value) is Opaque
    assert type(value.type_name) is str


def test_an_opaque_value_tells_its_real_type(candidate: Candidate) -> None:
    assert candidate.apply("unspeakable", "object").value == Opaque("zoo.EqualToAll")


@pytest.mark.parametrize("name", ["deep", "wide", "tensors", "keys"])
def test_a_value_beyond_the_limits_is_the_students_fault(candidate: Candidate, name: str) -> None:
    with pytest.raises(NotUsable):
        candidate.apply("beyond", name)


def test_the_caller_sees_what_became_of_its_arguments(candidate: Candidate) -> None:
    mine = torch.ones(2)
    call = candidate.apply("spoil", mine, extra={})
    assert same(call.args, [torch.zeros(2)])
    assert call.kwargs == {"extra": {"seen": True}}
    assert same(mine, torch.ones(2))


def test_a_call_tells_where_its_tensors_live(candidate: Candidate) -> None:
    assert candidate.build("Affine", 2, 2).watch("forward", torch.ones(1, 2)).devices == ["cpu"]
