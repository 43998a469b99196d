"""Reading the weights in use off the output, where they cannot be hidden or made up."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .checks import as_attention, assert_shape
from .layers import Layer


class Links:
    """A multi-head layer in train mode whose output shows, twice, the weight of every link.

    W_V and W_O are the identity, and value token j is 1 in features j and seq_k + j of each head:
    feature j of head h of the output is then the weight with which a query mixed in token j.
    Dropping links changes both copies alike; dropping features does not.
    """

    def __init__(self, layer: Layer, probability: float | None, batch: int = 4) -> None:
        sizes = layer.fit(batch=batch, seq_q=5, seq_k=6, heads=3, d_k=12)
        keywords: dict[str, Any] = {} if probability is None else {"dropout": probability}
        trial = layer.trial(sizes, **keywords)
        identity = torch.eye(sizes.d_model)
        trial = trial.with_parameters(W_V=identity, W_O=identity)
        query, key, _ = trial.inputs
        marker = torch.eye(sizes.seq_k).repeat(1, 2 * sizes.heads)  # (seq_k, d_model)
        self._trial = trial.with_inputs(query, key, marker.expand(batch, -1, -1).contiguous())
        self._sizes = sizes
        self.weights = self._trial.weights()  # in eval mode
        trial.model.train()
        self.value: Any = self._trial.model(*self._trial.inputs)

    def effective(self) -> tuple[Tensor, Tensor]:
        """The weights in use, (batch, heads, seq_q, seq_k), as each half of the features saw them."""
        output = as_attention(self.value).output
        sizes = self._sizes
        assert_shape(output, (sizes.batch, sizes.seq_q, sizes.d_model), "the output")
        by_head = output.reshape(sizes.batch, sizes.seq_q, sizes.heads, 2, sizes.seq_k).permute(3, 0, 2, 1, 4)
        return by_head[0], by_head[1]
