"""What does each of your heads look at?

The weights of your own layer on a short sentence, one picture a head: row i says how the token on
the left shares out its attention. The layer has not learned anything yet, so do not look for
meaning; look whether each row adds up to 1, and whether the heads differ.
"""

import torch
from multi_head_attention import MultiHeadAttention

tokens = ["the", "cat", "sat", "on", "the", "mat"]
torch.manual_seed(0)
x = torch.randn(1, len(tokens), 16)  # (batch, seq_len, d_model)

try:
    attention = MultiHeadAttention(d_model=16, num_heads=4).eval()
    with torch.no_grad():
        heads = attention(x, x, x)[1][0]
except NotImplementedError as missing:
    print(f"There is nothing to draw yet, because this exercise is not solved. Still to do: {missing}")
else:
    import matplotlib.pyplot as plt

    figure, places = plt.subplots(1, len(heads), figsize=(13, 4), layout="constrained")
    for number, (place, weights) in enumerate(zip(places, heads, strict=True)):
        image = place.imshow(weights, cmap="viridis", vmin=0, vmax=float(heads.max()))
        place.set_title(f"head {number}")
        place.set_xticks(range(len(tokens)), tokens, rotation=45)
        place.set_yticks(range(len(tokens)), tokens)
        place.set_xlabel("is looked at")
    places[0].set_ylabel("looks")
    figure.colorbar(image, ax=places, label="attention weight")
    plt.show()
