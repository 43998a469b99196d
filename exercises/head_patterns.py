"""Patterns of attention heads: numbers that say what a head mostly looks at.

Trained heads often settle on simple habits: a token looks at itself, at the token before it, or
at the first token of all (where a head parks its attention when it has nothing to say). Each of
these habits is a set of cells of the attention weights, so how strong it is can be counted: take
the share of every query that falls on its cell, and average over the queries.
"""

import torch


def pattern_scores(attention_weights: torch.Tensor) -> dict[str, torch.Tensor]:
    """How much of its attention each head gives to three simple patterns.

    - "diagonal": the mean, over all queries, of the share that a token gives to itself;
    - "previous_token": the mean share that a token gives to the one before it, over the queries
      that have one (all but the first; with a single token the score is 0);
    - "first_token": the mean, over all queries, of the share given to the first token.

    With weights whose rows add up to 1 every score lies between 0 and 1. The patterns overlap
    (to the first token, the first is also itself), so the scores of a head may add up to more.

    Args:
        attention_weights: (batch, num_heads, seq_len, seq_len); rows are queries; left as they are.

    Returns:
        the three scores by name, each (batch, num_heads), of the dtype and on the device of the
        weights.
    """
    raise NotImplementedError("Pick out the cells of each pattern and average over the queries.")


def dominant_pattern(attention_weights: torch.Tensor, threshold: float = 0.5) -> list[str]:
    """Name each head after the pattern it follows most.

    A head's scores are averaged over the batch, and the highest gives the name. If even that one
    is below the threshold, the head is "mixed". Where two patterns share the lead, either will do.

    Args:
        attention_weights: (batch, num_heads, seq_len, seq_len); left as they are.
        threshold: the least score, from 0 to 1, that makes a name.

    Returns:
        num_heads names, in the order of the heads, each a key of pattern_scores or "mixed".
    """
    raise NotImplementedError("Compare the scores of each head, and name the highest if it is high enough.")
