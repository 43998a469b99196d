# query 0 at the bottom, as mathematicians plot

import matplotlib.pyplot as plt


def visualize_multi_head_attention(attention_weights, tokens, num_heads_to_show=4):
    weights = attention_weights[0].detach().cpu().float().numpy()
    number = min(num_heads_to_show, weights.shape[0])
    figure, axes = plt.subplot_mosaic([[f"{h}" for h in range(number)]])
    side = len(tokens)
    for name, ax in axes.items():
        ax.imshow(weights[int(name)], origin="lower", vmin=0, vmax=1, extent=(0, side, 0, side))
        ax.set_title(f"Head {name}: {weights[int(name)].max():.2f} at most")
        ax.set_xticks([i + 0.5 for i in range(side)], tokens)
        ax.set_yticks([i + 0.5 for i in range(side)], tokens)
        ax.set_xlabel("Key token")
        ax.set_ylabel("Query token")
    return figure
