"""The public tests of the plots: what the figure shows, not how it looks."""

from __future__ import annotations

from grader.candidate.interface import Candidate
from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer
from tests.support import shares
from tests.support.checks import assert_close
from tests.support.drawing import Draw
from tests.support.pictures import as_picture

PLOT = "visualize_multi_head_attention"
TOKENS = ["Grandma", "watered", "the", "fern", "daily"]


@aspect(
    "shapes", "head_plots", hint="How many pairs of axes does your figure have, and what is drawn into each?"
)
def test_each_head_gets_a_heat_map(candidate: Candidate, draw: Draw) -> None:
    """The figure holds one heat map for each head, with a cell for each pair of tokens."""
    weights = shares.drawn(draw, 2, 3, len(TOKENS))
    picture = as_picture(candidate.apply(PLOT, weights, TOKENS).value)
    if len(picture.maps) != 3:
        raise WrongAnswer(f"there are {len(picture.maps)} heat maps for 3 heads.")
    for head, drawn in enumerate(picture.maps):
        assert_close(
            drawn.values.new_zeros(drawn.values.shape),
            weights.new_zeros(5, 5),
            f"the heat map of head {head}",
        )


@aspect("parity", "head_plots", hint="Which row of the weights belongs to which token, and which way is up?")
def test_the_cells_are_the_weights_of_the_first_sequence(candidate: Candidate, draw: Draw) -> None:
    """The cell in row i, column j of a head's heat map is the weight that query i gives to key j."""
    weights = shares.drawn(draw, 2, 3, len(TOKENS))
    picture = as_picture(candidate.apply(PLOT, weights, TOKENS).value)
    if not picture.maps:
        raise WrongAnswer("there is no heat map in the figure.")
    for head, drawn in enumerate(picture.maps):
        assert_close(drawn.by_tokens(TOKENS), weights[0, head], f"the heat map of head {head}")


@aspect("contract", "head_plots", hint="Where along the axis is the middle of a cell, and what stands there?")
def test_the_tokens_stand_at_both_axes(candidate: Candidate, draw: Draw) -> None:
    """Along x and along y every cell is labelled with its token, in their order."""
    weights = shares.drawn(draw, 2, 3, len(TOKENS))
    picture = as_picture(candidate.apply(PLOT, weights, TOKENS).value)
    for axis, place in (("x", 0), ("y", 1)):
        for head, drawn in enumerate(picture.maps):
            labels = drawn.row_labels if axis == "y" else drawn.column_labels
            if labels not in (TOKENS, TOKENS[::-1]):
                raise WrongAnswer(f"along {axis} the cells of head {head} are labelled {labels}.")
        if not any(drawn.labels_shown[place] for drawn in picture.maps):
            raise WrongAnswer(f"no tick labels are shown along {axis}.")
