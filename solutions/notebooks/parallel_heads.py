"""Do your three ways agree?

With one value a token, each a 1 in a place of its own, the output of attention is its weights. So
here are the weights of the first head, as each of your functions has them: the same three times.
"""

import torch
from parallel_heads import batched_attention, looped_attention, recurrent_attention

tokens = ["the", "cat", "sat", "on", "the", "mat"]
torch.manual_seed(0)
q, k = torch.randn(2, 1, 3, len(tokens), 8)  # each (batch, num_heads, seq_len, d_k)
v = torch.eye(len(tokens)).expand(1, 3, -1, -1)

try:
    panels = {
        "head by head": looped_attention(q, k, v)[0, 0],
        "all at once": batched_attention(q, k, v)[0, 0],
        "key by key": recurrent_attention(q, k, v)[0, 0],
    }
except NotImplementedError as missing:
    print(f"There is nothing to draw yet, because this exercise is not solved. Still to do: {missing}")
else:
    import matplotlib.pyplot as plt

    figure, places = plt.subplots(1, len(panels), figsize=(11, 4.5), layout="constrained")
    for place, (title, weights) in zip(places, panels.items(), strict=True):
        image = place.imshow(weights, cmap="viridis", vmin=0)
        place.set_title(title)
        place.set_xticks(range(len(tokens)), tokens, rotation=45)
        place.set_yticks(range(len(tokens)), tokens)
    figure.colorbar(image, ax=places, label="attention weight")
    plt.show()
