"""The patterns at every size, and how heads get their names."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.candidate.accelerator import ACCELERATOR, Accelerator
from grader.candidate.interface import Candidate
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import shares
from tests.support.checks import assert_close, assert_equal
from tests.support.drawing import Draw
from tests.support.usual_slips import HABITS, as_scores, assert_head_names, scores_of

# (batch, heads, length)
SIZES = [(2, 3, 5), (1, 3, 5), (2, 1, 4), (3, 3, 4), (2, 4, 4), (2, 3, 2), (4, 2, 12)]


def by_hand(weights: Tensor) -> dict[str, Tensor]:
    """Cell by cell, in float64."""
    table, length = weights.double(), weights.shape[-1]
    cells = {
        "diagonal": [table[..., i, i] for i in range(length)],
        "previous_token": [table[..., i, i - 1] for i in range(1, length)],
        "first_token": [table[..., i, 0] for i in range(length)],
    }
    nothing = table.new_zeros(table.shape[:2])
    return {name: torch.stack(some).mean(0) if some else nothing for name, some in cells.items()}


def heads_with(*habits: str, share: float, length: int = 8) -> Tensor:
    """A head for each habit, (1, heads, length, length): that share goes to it, the rest ahead of it."""
    ahead = torch.eye(length).roll(2, dims=1)
    return torch.stack([share * shares.pure(habit, length) + (1 - share) * ahead for habit in habits])[None]


@aspect("parity", "head_patterns", weight=4, hint="Over how many queries is each score averaged?")
@pytest.mark.parametrize(("batch", "heads", "length"), SIZES)
def test_scores_are_shares_averaged_over_the_queries(
    candidate: Candidate, draw: Draw, batch: int, heads: int, length: int
) -> None:
    """Each score is the mean share on the cells of its pattern, for every sample and head by itself."""
    weights = shares.drawn(draw, batch, heads, length)
    found = scores_of(candidate, weights)
    for name, expected in by_hand(weights).items():
        assert_close(found[name], expected, f"the score {name!r}")


@aspect("parity", "head_patterns", hint="Which token comes before a single one?")
def test_a_single_token_has_no_previous_one(candidate: Candidate) -> None:
    """With one token, all goes to itself, which is the first; to a previous one goes 0."""
    found = scores_of(candidate, torch.ones(2, 3, 1, 1))
    for name, share in {"diagonal": 1.0, "previous_token": 0.0, "first_token": 1.0}.items():
        assert_close(found[name], torch.full((2, 3), share), f"the score {name!r}")


@aspect("parity", "head_patterns", weight=1.5, hint="Does each head get the name that belongs to it?")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 1, 0, 2, 0)], ids=len)
def test_every_head_gets_its_own_name(candidate: Candidate, order: tuple[int, ...]) -> None:
    """Heads are named in their order, each after its own highest score."""
    habits = [HABITS[place] for place in order]
    assert_head_names(candidate, heads_with(*habits, share=0.8), habits)


@aspect("parity", "head_patterns", weight=1.5, hint="What if two sentences disagree about a head?")
def test_a_name_is_for_the_whole_batch(candidate: Candidate) -> None:
    """A head is named after its scores averaged over the batch, not after one sample."""
    first, second = (heads_with(habit, "diagonal", share=1.0) for habit in ("first_token", "previous_token"))
    assert_head_names(candidate, torch.cat([first, second, second, second]), ["previous_token", "diagonal"])
    assert_head_names(candidate, torch.cat([first, first, first, second]), ["first_token", "diagonal"])


@aspect(
    "contract", "head_patterns", weight=2, hint="When is the highest of three low scores not worth a name?"
)
@pytest.mark.parametrize(
    ("share", "threshold", "named"),
    [
        *[(0.7, None, True), (0.3, None, False)],
        *[(0.7, 0.9, False), (0.3, 0.2, True), (0.3, 0.0, True), (0.6, 0.55, True)],
    ],
)
def test_a_head_below_the_threshold_is_mixed(
    candidate: Candidate, share: float, threshold: float | None, named: bool
) -> None:
    """A head whose highest score is below the threshold (0.5 unless given) is mixed."""
    keywords = {} if threshold is None else {"threshold": threshold}
    expected = ["diagonal" if named else "mixed", "diagonal"]
    both = torch.cat([heads_with("diagonal", share=share), heads_with("diagonal", share=1.0)], dim=1)
    assert_head_names(candidate, both, expected, **keywords)


@aspect("contract", "head_patterns", hint="Which of your tensors did not come from the input?")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_scores_have_the_dtype_of_the_weights(candidate: Candidate, draw: Draw, dtype: torch.dtype) -> None:
    """Scores have the dtype of the weights: float64, bfloat16 or float16."""
    weights = shares.drawn(draw, 2, 3, 5).to(dtype)
    found = scores_of(candidate, weights)
    for name, expected in by_hand(weights).items():
        if found[name].dtype is not dtype:
            raise WrongAnswer(f"the score {name!r} came back as {found[name].dtype}, the input was {dtype}.")
        assert_close(found[name], expected, f"the score {name!r}")


@aspect("contract", "head_patterns", hint="Which of your lines write into a tensor of the caller's?")
def test_the_weights_stay_as_they_are(candidate: Candidate, draw: Draw) -> None:
    """After a call of either function the caller's weights are what they were."""
    weights = shares.drawn(draw, 2, 3, 5)
    seen = candidate.apply("pattern_scores", weights)
    as_scores(seen.value)
    assert_equal(seen.args[0], weights, "the weights, after pattern_scores,")
    assert_equal(
        candidate.apply("dominant_pattern", weights).args[0], weights, "the weights, after dominant_pattern,"
    )


@aspect("contract", "head_patterns", hint="How many names are there for 5 heads and a batch of 2? And of 1?")
@pytest.mark.parametrize(("batch", "heads"), [(2, 5), (5, 2), (1, 1)])
def test_there_is_one_name_a_head(candidate: Candidate, batch: int, heads: int) -> None:
    """dominant_pattern returns a list of one name for each head, whatever the batch."""
    weights = heads_with(*["previous_token"] * heads, share=0.9).expand(batch, -1, -1, -1).contiguous()
    assert_head_names(candidate, weights, ["previous_token"] * heads)


@aspect("device", "head_patterns", hint="On which device was each of your tensors born?")
@pytest.mark.gpu
def test_patterns_on_the_accelerator(candidate: Candidate, accelerator: Accelerator, draw: Draw) -> None:
    """On an accelerator the scores are those of the CPU and stay there, and heads get their names."""
    weights = shares.drawn(draw, 2, 3, 5)
    expected = scores_of(candidate, weights)
    seen = candidate.apply_on(ACCELERATOR, "pattern_scores", weights)
    for name, score in as_scores(seen.value).items():
        assert_close(score, expected[name], f"the score {name!r}")
    if not all(accelerator.holds(device) for device in seen.devices):
        raise WrongAnswer(f"the weights were on {accelerator.phrase}, the scores are on {seen.devices[0]}.")
    names = candidate.apply_on(ACCELERATOR, "dominant_pattern", weights).value
    if names != candidate.apply("dominant_pattern", weights).value:
        raise WrongAnswer(f"on {accelerator.phrase} the heads are called {names}, on the CPU otherwise.")
