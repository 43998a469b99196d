# einsum for the diagonal, gather for the previous token

import torch


def pattern_scores(attention_weights):
    w = attention_weights
    n = w.size(-1)
    scores = {"diagonal": torch.einsum("bhii->bh", w) / n, "first_token": w.narrow(-1, 0, 1).mean((-1, -2))}
    if n == 1:
        scores["previous_token"] = torch.zeros_like(scores["diagonal"])
    else:
        index = torch.arange(n - 1, device=w.device).view(1, 1, -1, 1).expand(*w.shape[:2], -1, 1)
        scores["previous_token"] = w[:, :, 1:].gather(-1, index).squeeze(-1).mean(-1)
    return scores


def dominant_pattern(attention_weights, threshold=0.5):
    means = pattern_scores(attention_weights.mean(0, keepdim=True))
    names = []
    for own, before, first in zip(*(means[k][0].tolist() for k in ("diagonal", "previous_token", "first_token"))):
        best = max((own, "diagonal"), (before, "previous_token"), (first, "first_token"))
        names.append(best[1] if best[0] >= threshold else "mixed")
    return names
