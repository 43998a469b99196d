"""The diagnoses of the bonus exercises, in the form of the catalogue in findings.py."""

from __future__ import annotations

from grader.scoring import ASPECTS

_ALL = frozenset(ASPECTS)

# id -> (what is observed, a question, the aspects that it explains)
BONUS: dict[str, tuple[str, str, frozenset[str]]] = {
    # figures of heads
    "plot-not-a-figure": (
        "What comes back is not the figure.",
        "What does the signature promise to return, and which of your objects is that?",
        _ALL,
    ),
    "plot-head-count": (
        "The number of heat maps is not the number of heads to show.",
        "How many axes do you make for 1, 3 and 6 heads, and for another num_heads_to_show?",
        _ALL,
    ),
    "plot-transposed": (
        "The heat maps are turned round: rows and columns have changed places.",
        "Which token does a row of the weights belong to: the one that asks, or the one that answers?",
        frozenset({"parity", "contract", "device", "gradients"}),
    ),
    "plot-other-numbers": (
        "The heat maps show other numbers than the head's weights in the first sequence.",
        "Print one cell's weight, and read the same cell off your figure: on the way, which step changed it?",
        frozenset({"shapes", "parity", "contract", "device", "gradients"}),
    ),
    "plot-tokens-misplaced": (
        "The tokens do not stand where their cells are.",
        "Who chooses the places of the ticks when you set labels only?",
        frozenset({"contract"}),
    ),
    "plot-needs-plain-numbers": (
        "Weights that NumPy cannot read stop the call.",
        "What has to be done to a tensor with gradients, on another device, or of a dtype unknown to NumPy?",
        frozenset({"contract", "device", "gradients"}),
    ),
    # patterns of heads
    "pattern-names": (
        "The scores do not come as a dict of tensors by the promised names.",
        "Print what your function returns. Which keys does it have, and of what type are its values?",
        _ALL,
    ),
    "pattern-scores-shape": (
        "A score has another shape than (batch, num_heads).",
        "Which axes did you average away, and which are left?",
        _ALL,
    ),
    "pattern-other-cells": (
        "The shares that are counted lie on other cells than those of the pattern.",
        "In a 4 by 4 table, mark the cells that your code reads. Who asks in them, and who answers?",
        frozenset({"parity", "gradients"}),
    ),
    "pattern-divided-otherwise": (
        "The right shares are counted, but divided by another number than that of their cells.",
        "How many queries have a cell in this pattern?",
        frozenset({"parity", "gradients"}),
    ),
    # one attention in three ways
    "operations-grow": (
        "The number of operations grows with a size that it should not depend on.",
        "Which of your lines runs more often when that size grows?",
        frozenset({"contract"}),
    ),
    "loop-missing": (
        "The number of operations does not grow with the size that the loop should run over.",
        "Over what does the loop run that this function is about?",
        frozenset({"contract"}),
    ),
}
