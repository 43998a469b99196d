"""Plots of attention heads: one picture a head, to see what each of them looks at.

Attention weights are shares, and shares are easily seen: a dark cell for a small one, a bright
cell for a large one. A row of the picture is a token that asks, a column a token that answers.
A bright diagonal says "I look at myself", a bright first column "I look at the beginning".
"""

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure


def visualize_multi_head_attention(
    attention_weights: torch.Tensor, tokens: list[str], num_heads_to_show: int = 4
) -> Figure:
    """Draw a heat map for each of the first heads, side by side or in a grid.

    Only the first sequence of the batch is drawn. Each heat map has axes of its own, in which

    - the cell in row i, column j shows the share of token j in what token i takes in;
    - the ticks are the tokens, in their order: those that ask down the y axis, which is labelled
      "Query", those that answer along the x axis, which is labelled "Key" (a label or ticks may
      be written once for axes that share them);
    - the title holds the head's number, counted from 0: "Head 0", "Head 1", …;
    - the colours run between the same two values for every head, and no weight lies outside
      them, so that one colour means one share all over the figure.

    A colour bar is yours to add or leave out. The figure is returned, not shown: who calls this
    decides whether to show it, or save it.

    Args:
        attention_weights: (batch, num_heads, seq_len, seq_len), of any floating dtype, on any
            device, as they come out of a model (so gradients may hang on them); left as they are.
        tokens: the seq_len tokens of the first sequence; the same word may occur twice.
        num_heads_to_show: how many heads to draw at most, from head 0 on; where there are fewer
            heads, all of them are drawn.

    Returns:
        the matplotlib Figure.
    """
    ### BEGIN SOLUTION: Draw one heat map for each head, label it, and return the figure.
    shown = attention_weights[0, :num_heads_to_show].detach().cpu().double()  # (heads, seq_len, seq_len)
    size = (4 * len(shown), 4)
    figure, grid = plt.subplots(1, len(shown), figsize=size, squeeze=False, layout="constrained")
    places = range(len(tokens))
    for head, axes in enumerate(grid[0]):
        axes.imshow(shown[head].numpy(), vmin=0.0, vmax=1.0)
        axes.set_title(f"Head {head}")
        axes.set_xlabel("Key")
        axes.set_ylabel("Query")
        axes.set_xticks(places, tokens, rotation=90)
        axes.set_yticks(places, tokens)
    return figure
    ### END SOLUTION
