# colour meshes with the ticks in the middle of the cells, turned so that query 0 is on top

import numpy as np
from matplotlib import pyplot


def visualize_multi_head_attention(attention_weights, tokens, num_heads_to_show=4):
    first = np.array(attention_weights[0].detach().cpu().float().tolist())
    count = min(num_heads_to_show, first.shape[0])
    figure = pyplot.figure(figsize=(3 * count, 3))
    middles = np.arange(len(tokens)) + 0.5
    for number in range(count):
        ax = figure.add_subplot(1, count, number + 1)
        ax.pcolormesh(first[number], cmap="Blues", vmin=0, vmax=1)
        ax.set_aspect("equal")
        ax.invert_yaxis()
        ax.set_xticks(middles)
        ax.set_xticklabels(tokens, rotation=45)
        ax.set_yticks(middles)
        ax.set_yticklabels(tokens)
        ax.set(title="head %d" % number, xlabel="keys", ylabel="queries")
    return figure
