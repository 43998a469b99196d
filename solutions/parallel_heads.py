"""One attention, computed in three ways: head by head, all at once, and position by position.

A recurrent network reads a sequence one position after another, and each step waits for the one
before. Attention asks every position about every other in one product, which is what hardware is
good at. The three functions below give the same numbers. What differs is how many operations
they take, one after another, and what they have to hold in memory.

    attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V        in every head by itself

The heads are split already: there are no projections here, and what is returned is the output of
each head. The mask rule is the usual one: where the mask is 0 (or False) the position is blocked,
anything else may be seen. A query that may see nothing has no defined answer, and must not harm
the others.
"""

import math

import torch


def looped_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Attend in one head after another, each time for all positions at once.

    The number of operations grows with the number of heads, and with nothing else.

    Args:
        q: the queries, (batch, num_heads, seq_q, d_k); left as they are.
        k: the keys, (batch, num_heads, seq_k, d_k); left as they are.
        v: the values, (batch, num_heads, seq_k, d_v); left as they are.
        mask: bool, int or float, of shape (seq_q, seq_k) or any 4-D shape that broadcasts to
            (batch, num_heads, seq_q, seq_k); left as it is.

    Returns:
        (batch, num_heads, seq_q, d_v)
    """
    ### BEGIN SOLUTION: Take one head at a time, attend, and put the outputs together.
    outputs = []
    for head in range(q.size(1)):
        scores = q[:, head] @ k[:, head].mT / math.sqrt(q.size(-1))  # (batch, seq_q, seq_k)
        if mask is not None:
            own = mask.expand(*q.shape[:3], k.size(2))[:, head]  # (batch, seq_q, seq_k)
            scores = scores.masked_fill(own == 0, float("-inf"))
        outputs.append(scores.softmax(dim=-1) @ v[:, head])  # (batch, seq_q, d_v)
    return torch.stack(outputs, dim=1)
    ### END SOLUTION


def batched_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Attend in all heads and at all positions at once.

    The number of operations does not depend on how many samples, heads or positions there are.

    Args:
        q: the queries, (batch, num_heads, seq_q, d_k); left as they are.
        k: the keys, (batch, num_heads, seq_k, d_k); left as they are.
        v: the values, (batch, num_heads, seq_k, d_v); left as they are.
        mask: as in looped_attention.

    Returns:
        (batch, num_heads, seq_q, d_v)
    """
    ### BEGIN SOLUTION: Attend without any loop.
    scores = q @ k.mT / math.sqrt(q.size(-1))  # (batch, num_heads, seq_q, seq_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return scores.softmax(dim=-1) @ v  # (batch, num_heads, seq_q, d_v)
    ### END SOLUTION


def recurrent_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Attend by reading keys and values one position after another, for all heads and queries at once.

    After each position a query remembers three things, whatever the length read so far: the
    highest score it has met, the sum of the exponentials of its scores, and the sum of the values
    weighted by them. The exponentials are taken of a score less the highest one, so that none
    grows without bound; when a higher score comes along, both sums are scaled down to match.
    What is returned is the second sum over the first.

    The number of operations grows with seq_k, and with nothing else.

    Args:
        q: the queries, (batch, num_heads, seq_q, d_k); left as they are.
        k: the keys, (batch, num_heads, seq_k, d_k); left as they are.
        v: the values, (batch, num_heads, seq_k, d_v); left as they are.
        mask: as in looped_attention.

    Returns:
        (batch, num_heads, seq_q, d_v)
    """
    ### BEGIN SOLUTION: Read one key and value after another, and keep running sums.
    highest = q.new_full((*q.shape[:-1], 1), float("-inf"))  # (batch, num_heads, seq_q, 1)
    total = torch.zeros_like(highest)
    mixture = q.new_zeros(*q.shape[:-1], v.size(-1))  # (batch, num_heads, seq_q, d_v)
    for position in range(k.size(2)):
        here = slice(position, position + 1)
        score = q @ k[:, :, here].mT / math.sqrt(q.size(-1))  # (batch, num_heads, seq_q, 1)
        if mask is not None:
            allowed = mask.expand(*q.shape[:3], k.size(2))[..., here]
            score = score.masked_fill(allowed == 0, float("-inf"))
        higher = torch.maximum(highest, score)
        level = higher.masked_fill(higher == float("-inf"), 0.0)  # nothing seen yet: inf - inf is no number
        kept, share = (highest - level).exp(), (score - level).exp()
        total = total * kept + share
        mixture = mixture * kept + share * v[:, :, here]
        highest = higher
    return mixture / total
    ### END SOLUTION
