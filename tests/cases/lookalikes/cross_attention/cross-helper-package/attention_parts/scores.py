import math


def scaled_scores(queries, keys):
    """(batch, seq_q, d_k) and (batch, seq_k, d_k) to (batch, seq_q, seq_k)."""
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.size(-1))
