# a table of ones and zeros for each pattern, multiplied with the weights

import torch


def _cells(n, like):
    diagonal = torch.eye(n, dtype=like.dtype, device=like.device)
    previous = torch.diag(like.new_ones(n - 1), -1)
    first = torch.zeros_like(diagonal)
    first[:, 0] = 1
    return {"diagonal": diagonal, "previous_token": previous, "first_token": first}


def pattern_scores(attention_weights):
    cells = _cells(attention_weights.shape[-1], attention_weights)
    return {
        name: (attention_weights * table).sum((-1, -2)) / table.sum().clamp(min=1) for name, table in cells.items()
    }


def dominant_pattern(attention_weights, threshold=0.5):
    scores = pattern_scores(attention_weights)
    table = torch.stack(list(scores.values())).mean(1)
    values, places = table.max(0)
    names = [list(scores)[i] for i in places.tolist()]
    return ["mixed" if value < threshold else name for value, name in zip(values.tolist(), names)]
