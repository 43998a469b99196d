"""What does your attention look at?

A translation looks back at its source: row i says how the token on the left shares out its
attention over the other sentence. The layer has not learned anything yet, so do not look for
meaning; look whether each row adds up to 1, and at the two lengths.
"""

import torch
from cross_attention import CrossAttention

asking = ["le", "chat", "dort"]
answering = ["the", "cat", "is", "asleep", "now"]
torch.manual_seed(0)
query_input = torch.randn(1, len(asking), 16)  # (batch, seq_q, d_model)
key_value_input = torch.randn(1, len(answering), 16)  # (batch, seq_k, d_model)

try:
    attention = CrossAttention(d_model=16)
    with torch.no_grad():
        weights = attention(query_input, key_value_input)[1][0]
except NotImplementedError as missing:
    print(f"There is nothing to draw yet, because this exercise is not solved. Still to do: {missing}")
else:
    import matplotlib.pyplot as plt

    figure, place = plt.subplots(figsize=(5.5, 4), layout="constrained")
    image = place.imshow(weights, cmap="viridis", vmin=0)
    place.set_title("one sentence looks at another")
    place.set_xticks(range(len(answering)), answering, rotation=45)
    place.set_yticks(range(len(asking)), asking)
    place.set_xlabel("is looked at")
    place.set_ylabel("looks")
    figure.colorbar(image, ax=place, label="attention weight")
    plt.show()
