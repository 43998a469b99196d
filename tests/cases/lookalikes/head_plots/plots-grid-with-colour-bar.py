# a grid two wide, unused cells switched off, a colour bar for all, labels once for the figure

import matplotlib.pyplot as plt


def visualize_multi_head_attention(attention_weights, tokens, num_heads_to_show=4):
    heads = attention_weights.detach().to("cpu").float()[0].numpy()[:num_heads_to_show]
    rows = (len(heads) + 1) // 2
    fig, grid = plt.subplots(rows, 2, squeeze=False, layout="constrained")
    flat = grid.flatten()
    for i, ax in enumerate(flat):
        if i >= len(heads):
            ax.axis("off")
            continue
        picture = ax.imshow(heads[i], cmap="viridis", clim=(0, heads.max()))
        ax.set_title(f"Attention of head {i} (first sentence)")
        ax.set_xticks(range(len(tokens)), labels=tokens, rotation="vertical")
        ax.set_yticks(range(len(tokens)), labels=tokens)
    fig.colorbar(picture, ax=list(flat), label="share")
    fig.supxlabel("Key: who answers")
    fig.supylabel("Query: who asks")
    fig.suptitle("Heads")
    return fig
