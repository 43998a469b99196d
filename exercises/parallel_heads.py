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
    raise NotImplementedError("Take one head at a time, attend, and put the outputs together.")


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
    raise NotImplementedError("Attend without any loop.")


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
    raise NotImplementedError("Read one key and value after another, and keep running sums.")
