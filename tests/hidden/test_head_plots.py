"""The plots at other sizes, with other inputs, and what else is promised of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.candidate.accelerator import ACCELERATOR, Accelerator
from grader.candidate.interface import Candidate
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import shares
from tests.support.checks import assert_close, assert_equal
from tests.support.drawing import Draw
from tests.support.pictures import Picture, as_picture, number_in

PLOT = "visualize_multi_head_attention"
TOKENS = ["it", "has", "touched", "the", "ceiling", "now"]


def shown(candidate: Candidate, weights: torch.Tensor, tokens: list[str], **keywords: Any) -> Picture:
    picture = as_picture(candidate.apply(PLOT, weights, tokens, **keywords).value)
    if not picture.maps:
        raise WrongAnswer("there is no heat map in the figure.")
    return picture


def assert_weights_shown(picture: Picture, weights: torch.Tensor, tokens: list[str]) -> None:
    """Raises WrongAnswer unless each heat map holds its head's weights for the first sequence."""
    for head, drawn in enumerate(picture.maps[: weights.shape[1]]):
        assert_close(drawn.by_tokens(tokens), weights[0, head].float(), f"the heat map of head {head}")


@aspect(
    "shapes",
    "head_plots",
    weight=2,
    hint="What if there are fewer heads than asked for, or more, or just one?",
)
@pytest.mark.parametrize(
    ("heads", "asked", "expected"), [(6, None, 4), (3, 4, 3), (5, 2, 2), (1, 4, 1), (7, 6, 6), (4, 1, 1)]
)
def test_as_many_heads_are_drawn_as_asked_for(
    candidate: Candidate, draw: Draw, heads: int, asked: int | None, expected: int
) -> None:
    """num_heads_to_show heads are drawn, 4 unless it is given, and all of them where there are fewer."""
    keywords = {} if asked is None else {"num_heads_to_show": asked}
    picture = shown(candidate, shares.drawn(draw, 2, heads, 6), TOKENS, **keywords)
    if len(picture.maps) != expected:
        called = "no number of heads" if asked is None else f"num_heads_to_show={asked}"
        raise WrongAnswer(f"{len(picture.maps)} heat maps are drawn for {heads} heads and {called}.")


@aspect("parity", "head_plots", weight=2, hint="Try a batch of 1, a single token, as many heads as tokens.")
@pytest.mark.parametrize(
    ("batch", "heads", "length"), [(1, 3, 6), (3, 3, 5), (2, 1, 4), (2, 2, 1), (4, 4, 2), (2, 3, 14)]
)
def test_the_cells_are_the_weights_at_every_size(
    candidate: Candidate, draw: Draw, batch: int, heads: int, length: int
) -> None:
    """The heat map of head h shows the weights of head h in the first sequence, at every size."""
    weights, tokens = shares.drawn(draw, batch, heads, length), [f"t{place}" for place in range(length)]
    assert_weights_shown(shown(candidate, weights, tokens), weights, tokens)


@aspect("contract", "head_plots", hint="Which of the dtypes of PyTorch does NumPy know?")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_weights_of_any_dtype_are_drawn(candidate: Candidate, draw: Draw, dtype: torch.dtype) -> None:
    """Weights in float64, bfloat16 and float16 are drawn like any others."""
    weights = shares.drawn(draw, 2, 3, 6).to(dtype)
    assert_weights_shown(shown(candidate, weights, TOKENS), weights, TOKENS)


@aspect(
    "contract",
    "head_plots",
    weight=2,
    hint="Cover the plots' order: could you still say which one is head 2?",
)
@pytest.mark.parametrize("heads", [1, 3, 6])
def test_each_title_holds_the_number_of_its_head(candidate: Candidate, draw: Draw, heads: int) -> None:
    """The title of each heat map holds its head's number, counted from 0."""
    weights = shares.drawn(draw, 2, heads, 6)
    picture = shown(candidate, weights, TOKENS, num_heads_to_show=heads)
    for head, drawn in enumerate(picture.maps):
        if number_in(drawn.title) != head:
            raise WrongAnswer(f"the heat map of head {head} has the title {drawn.title!r}.")


@aspect("contract", "head_plots", hint="Would a reader know which axis asks and which one answers?")
def test_the_axes_say_what_they_are(candidate: Candidate, draw: Draw) -> None:
    """The y axis is labelled Query and the x axis Key, at each heat map or once for all of them."""
    picture = shown(candidate, shares.drawn(draw, 2, 3, 6), TOKENS)
    for axis, wanted in (("x", "key"), ("y", "quer")):
        found = [getattr(one, f"{axis}_label") for one in (picture, *picture.maps)]
        other = "quer" if wanted == "key" else "key"  # of query, or queries
        if not any(wanted in text.lower() for text in found) or any(other in text.lower() for text in found):
            raise WrongAnswer(
                f"the {axis} axis is labelled {' '.join(filter(None, found)) or 'with nothing'}."
            )


@aspect("contract", "head_plots", hint="Is a token the same as its place? What if a word comes twice?")
@pytest.mark.parametrize("tokens", [["the", "cat", "saw", "the", "cat"], ["a"] * 4, ["7", "3", "5"]], ids=len)
def test_tokens_that_come_twice_keep_their_places(
    candidate: Candidate, draw: Draw, tokens: list[str]
) -> None:
    """A word that occurs twice has a row and a column for each time; a number is a word like others."""
    weights = shares.drawn(draw, 2, 2, len(tokens))
    for head, drawn in enumerate(shown(candidate, weights, tokens).maps):
        for labels, flip in ((drawn.row_labels, (0,)), (drawn.column_labels, (1,))):
            if labels not in (tokens, tokens[::-1]):
                raise WrongAnswer(f"the cells of head {head} are labelled {labels} for the tokens {tokens}.")
            upside_down = labels != tokens
            drawn = (
                drawn
                if not upside_down
                else type(drawn)(**{**vars(drawn), "values": drawn.values.flip(flip)})
            )
        assert_close(drawn.values, weights[0, head], f"the heat map of head {head}")


@aspect("contract", "head_plots", hint="Who chooses the colours' range when you do not, and from what?")
def test_one_colour_means_one_share(candidate: Candidate, draw: Draw) -> None:
    """The colours of all heads run between the same two values, and no weight lies outside them."""
    weights = shares.drawn(draw, 2, 3, 6)
    weights[:, 1] = weights[:, 1] * 0.2 + 0.8 / 6  # one head is far more even than the others
    limits = [drawn.limits for drawn in shown(candidate, weights, TOKENS).maps]
    low, high = limits[0]
    if any(other != limits[0] for other in limits):
        raise WrongAnswer(
            f"the colours run from {low:.2g} to {high:.2g} in head 0, otherwise in another head."
        )
    if low is None or high is None or low > weights[0].min() + 1e-6 or high < weights[0].max() - 1e-6:
        raise WrongAnswer(f"the colours run from {low} to {high}, and some weights lie outside.")


@aspect("contract", "head_plots", hint="Which of your lines write into what belongs to the caller?")
def test_weights_and_tokens_are_left_alone(candidate: Candidate, draw: Draw) -> None:
    """After the call the caller's weights and tokens are what they were."""
    weights = shares.drawn(draw, 2, 5, 6)
    seen = candidate.apply(PLOT, weights, TOKENS)
    as_picture(seen.value)
    assert_equal(seen.args[0], weights, "the weights, after the call,")
    if seen.args[1] != TOKENS:
        raise WrongAnswer(f"the tokens, after the call, are {seen.args[1]}.")


@aspect("contract", "head_plots", hint="Which figure does pyplot draw into when you do not say?")
def test_each_call_draws_a_figure_of_its_own(candidate: Candidate, draw: Draw) -> None:
    """A second call returns a figure with its own heads only."""
    for heads, length in ((3, 6), (2, 4), (3, 5)):
        weights = shares.drawn(draw, 2, heads, length)
        picture = shown(candidate, weights, TOKENS[:length])
        if len(picture.maps) != heads:
            raise WrongAnswer(
                f"there are {len(picture.maps)} heat maps for {heads} heads after earlier calls."
            )
        assert_weights_shown(picture, weights, TOKENS[:length])


@aspect("gradients", "head_plots", hint="Does the picture have to be differentiated?")
def test_weights_may_come_straight_from_a_model(candidate: Candidate, draw: Draw) -> None:
    """Weights on which gradients hang, as a model returns them, are drawn like any others."""
    weights = shares.drawn(draw, 2, 3, 6)
    picture = as_picture(candidate.gradients(PLOT, weights, TOKENS, cotangents=[None]).value)
    assert_weights_shown(picture, weights, TOKENS)


@aspect("device", "head_plots", hint="On which device can NumPy read numbers?")
@pytest.mark.gpu
def test_weights_on_the_accelerator_are_drawn(
    candidate: Candidate, accelerator: Accelerator, draw: Draw
) -> None:
    """Weights that lie on an accelerator are drawn like any others."""
    weights = shares.drawn(draw, 2, 3, 6)
    picture = as_picture(candidate.apply_on(ACCELERATOR, PLOT, weights, TOKENS).value)
    assert_weights_shown(picture, weights, TOKENS)
