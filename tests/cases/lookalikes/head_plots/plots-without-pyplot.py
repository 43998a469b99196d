# a Figure made without pyplot, with a colour bar in every picture

import torch
from matplotlib.figure import Figure


def visualize_multi_head_attention(attention_weights, tokens, num_heads_to_show=4):
    with torch.no_grad():
        weights = attention_weights[0].clone().cpu().to(torch.float32)
    figure = Figure(figsize=(12, 4))
    shown = min(len(weights), num_heads_to_show)
    for head in range(shown):
        axes = figure.add_subplot(1, shown, 1 + head)
        image = axes.matshow(weights[head].tolist(), vmin=0, vmax=1)
        axes.set_xlabel("Key position")
        axes.set_ylabel("Query position")
        axes.set_title("Head " + str(head), loc="left")
        axes.xaxis.set_ticks(list(range(len(tokens))), tokens)
        axes.yaxis.set_ticks(list(range(len(tokens))), tokens)
        figure.colorbar(image, ax=axes)
    return figure
