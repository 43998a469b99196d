"""Doing beforehand, once, what the first tensor operation of every process would do again."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import tempfile

import torch
import torch.fx.experimental.symbolic_shapes
import torch.nn.functional as F  # noqa: N812 - the name the field uses
import torch.testing
from torch import nn

from grader.candidate import accelerator
from grader.candidate.observation import CountOperations


def warm_up_accelerator() -> None:
    """Put up the simulated accelerator, if there is no real one, and run something on it.

    Only where no backward pass was run and none will be: autograd starts a thread for each device
    then, and refuses to differentiate in a fork made later.
    """
    found = accelerator.prepare()
    if found.simulated:  # a real one is left alone: used here, it would refuse to work in a fork
        device = accelerator.device_called(found.name)
        with torch.no_grad():
            accelerator.moved(nn.Linear(2, 2), device, None)(torch.zeros(1, 2).to(device))


def warm_up_rarer() -> None:
    """Load what only some exercises need: drawing, where matplotlib is installed, and counting operations."""
    with CountOperations(), torch.no_grad():
        torch.zeros(2, 2) @ torch.zeros(2, 2)
    with contextlib.suppress(ImportError), tempfile.TemporaryDirectory() as caches:
        os.environ["MPLCONFIGDIR"] = os.environ["XDG_CACHE_HOME"] = caches  # what it finds, it keeps there
        importlib.import_module("matplotlib").use("Agg")
        plots = importlib.import_module("matplotlib.pyplot")
        figure, axes = plots.subplots()
        figure.colorbar(axes.imshow([[0.0, 1.0]]))
        plots.close(figure)
        del os.environ["MPLCONFIGDIR"], os.environ["XDG_CACHE_HOME"]


def warm_up() -> None:
    """Load and run what students' code commonly touches, on one thread.

    No backward pass: after one, a fork that differentiates is refused by autograd. One thread,
    because a fork does not inherit the threads of a pool it would then wait for.
    """
    torch.set_num_threads(1)
    with torch.no_grad():
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            x = torch.randn(2, 3, 8).to(dtype)
            layer = nn.Linear(8, 8, bias=False).to(dtype)
            q = layer(x).view(2, 3, 2, 4).transpose(1, 2)
            mask = torch.ones(3, 3).tril()
            scores = torch.einsum("bhqd,bhkd->bhqk", q, q).masked_fill(mask == 0, float("-inf"))
            weights = F.dropout(torch.softmax(scores, dim=-1), 0.5)
            torch.where(mask == 0, 0.0, weights).matmul(q).reshape(2, 3, 8)
        attention = nn.MultiheadAttention(8, 2, batch_first=True, bias=False)
        attention(x.float(), x.float(), x.float())
        F.scaled_dot_product_attention(q, q, q)
    gc.collect()
    gc.freeze()
