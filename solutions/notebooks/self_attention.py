"""What does your attention look at?

The weights of your own layer on a short sentence: row i says how the token on the left shares out
its attention. The layer has not learned anything yet, so do not look for meaning; look whether each
row adds up to 1, and what the mask on the right takes away.
"""

import torch
from self_attention import SelfAttention

tokens = ["the", "cat", "sat", "on", "the", "mat"]
torch.manual_seed(0)
x = torch.randn(1, len(tokens), 16)  # (batch, seq_len, d_model)
causal = torch.ones(len(tokens), len(tokens)).tril()

try:
    attention = SelfAttention(d_model=16)
    with torch.no_grad():
        panels = {"every token": attention(x)[1][0], "only earlier tokens": attention(x, causal)[1][0]}
except NotImplementedError as missing:
    print(f"There is nothing to draw yet, because this exercise is not solved. Still to do: {missing}")
else:
    import matplotlib.pyplot as plt

    figure, places = plt.subplots(1, len(panels), figsize=(9, 4.5), layout="constrained")
    for place, (title, weights) in zip(places, panels.items(), strict=True):
        image = place.imshow(weights, cmap="viridis", vmin=0)
        place.set_title(title)
        place.set_xticks(range(len(tokens)), tokens, rotation=45)
        place.set_yticks(range(len(tokens)), tokens)
        place.set_xlabel("is looked at")
        place.set_ylabel("looks")
    figure.colorbar(image, ax=places, label="attention weight")
    plt.show()
