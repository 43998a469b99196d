"""What do you call these heads?

Three heads with habits that are easy to see, one that has none, and the names your own functions
give them.
"""

import torch
from head_patterns import dominant_pattern, pattern_scores

tokens = ["the", "cat", "sat", "on", "the", "mat"]
itself = torch.eye(len(tokens))
before = itself.roll(-1, dims=1)  # every token looks one to the left, the first at the last
first = torch.zeros_like(itself)
first[:, 0] = 1.0
even = torch.full_like(itself, 1 / len(tokens))
weights = torch.stack([itself, before, first, even])[None]  # (batch, num_heads, seq_len, seq_len)

try:
    scores = pattern_scores(weights)
    names = dominant_pattern(weights)
except NotImplementedError as missing:
    print(f"There is nothing to draw yet, because this exercise is not solved. Still to do: {missing}")
else:
    import matplotlib.pyplot as plt

    figure, places = plt.subplots(1, len(names), figsize=(13, 4), layout="constrained")
    for head, (place, name) in enumerate(zip(places, names, strict=True)):
        place.imshow(weights[0, head], cmap="viridis", vmin=0, vmax=1)
        told = [f"{pattern}: {float(score[0, head]):.2f}" for pattern, score in scores.items()]
        place.set_title("\n".join([name, *told]), fontsize=9)
        place.set_xticks(range(len(tokens)), tokens, rotation=45)
        place.set_yticks(range(len(tokens)), tokens)
    plt.show()
