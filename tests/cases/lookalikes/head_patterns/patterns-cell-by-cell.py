# plain loops over queries, numbers added up one by one

import torch


def pattern_scores(attention_weights):
    batch, heads, n, _ = attention_weights.shape
    zero = torch.zeros(batch, heads, dtype=attention_weights.dtype, device=attention_weights.device)
    own, before, first = zero.clone(), zero.clone(), zero.clone()
    for i in range(n):
        own += attention_weights[:, :, i, i] / n
        first += attention_weights[:, :, i, 0] / n
        if i > 0:
            before += attention_weights[:, :, i, i - 1] / (n - 1)
    return dict(first_token=first, diagonal=own, previous_token=before)


def dominant_pattern(attention_weights, threshold=0.5):
    scores = pattern_scores(attention_weights.float())
    answer = []
    for h in range(attention_weights.shape[1]):
        name, best = "mixed", threshold
        for key in ("diagonal", "previous_token", "first_token"):
            score = sum(scores[key][:, h].tolist()) / len(scores[key])
            if score >= best:
                name, best = key, score
        answer.append(name)
    return answer
