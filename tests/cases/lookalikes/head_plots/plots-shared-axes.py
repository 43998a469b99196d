# shared axes with the inner labels hidden, ticks set through pyplot, a fixed formatter

import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter


def visualize_multi_head_attention(attention_weights, tokens, num_heads_to_show=4):
    w = attention_weights[0].cpu().detach().double().numpy()
    n = min(num_heads_to_show, w.shape[0])
    f, axs = plt.subplots(nrows=n, ncols=1, sharex=True, sharey=True)
    axs = [axs] if n == 1 else axs
    for h in range(n - 1, -1, -1):
        axs[h].imshow(w[h], vmin=0, vmax=1, interpolation="nearest", aspect="auto")
        axs[h].set_title("head no. %i" % h)
        axs[h].set_ylabel("query")
    for axis in (axs[0].xaxis, axs[0].yaxis):
        axis.set_major_locator(FixedLocator(range(len(tokens))))
        axis.set_major_formatter(FuncFormatter(lambda x, _: tokens[int(x)] if 0 <= x < len(tokens) else ""))
    axs[-1].set_xlabel("key")
    plt.xticks(rotation=90)
    return f
