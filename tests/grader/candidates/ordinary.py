"""What ordinary answers do, and what it must come to at every level of isolation."""

import os
import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_Q = nn.Linear(8, 8, bias=False)

    def forward(self, x):
        q = self.W_Q(x)
        weights = torch.softmax(q @ q.transpose(-2, -1) / 8**0.5, dim=-1)
        return weights @ q, weights


def backward():
    model, x = Attention(), torch.randn(2, 3, 8)
    model(x)[0].sum().backward()
    return bool(model.W_Q.weight.grad.abs().sum() > 0)


def one_training_step():
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters())
    nn.functional.mse_loss(model(torch.randn(2, 3, 8))[0], torch.zeros(2, 3, 8)).backward()
    optimizer.step()
    return True


def vectorized():
    return torch.vmap(torch.dot)(torch.ones(3, 4), torch.ones(3, 4)).tolist() == [4.0] * 3


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(2, 8, requires_grad=True)
    checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    return x.grad is not None


def large_product():
    return (torch.ones(512, 512) @ torch.ones(512, 512)).sum().item() == 512.0**3


def in_threads():
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(abs, [-1, 2])) == [1, 2]


def with_more_torch_threads():
    torch.set_num_threads(2)
    try:
        return torch.randn(400, 400).matmul(torch.randn(400, 400)).shape == (400, 400)
    finally:
        torch.set_num_threads(1)


def temporary_files():
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
        torch.save({"x": torch.ones(2)}, file.name)
        os.makedirs(f"{folder}/a/b")
        os.rename(f"{folder}/a/b", f"{folder}/c")
        os.symlink("c", f"{folder}/d")
        return torch.equal(torch.load(file.name)["x"], torch.ones(2)) and folder.startswith(os.getcwd())


def numbers():
    random.seed(1), np.random.seed(1)
    return np.random.rand(2).shape == (2,) and random.random() < 1 and len(os.urandom(8)) == 8


def late_imports():
    import decimal
    import fractions
    import sqlite3
    import statistics

    import torch.distributions
    import torch.nn.utils.parametrize

    return all((decimal, fractions, sqlite3, statistics, torch.distributions))


def prints_and_time():
    print(time.strftime("%H:%M"))
    event = threading.Event()
    return not event.wait(0.01) and bool(os.cpu_count())


def own_file():
    with open(__file__) as stream:
        return "own_file" in stream.read()


def plot():
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.imshow(torch.rand(3, 3).numpy())
    figure.savefig("figure.png")
    pyplot.close(figure)
    return os.path.getsize("figure.png") > 100


def many_processes():
    from multiprocessing import Pool

    with Pool(2) as pool:
        return pool.map(abs, [-1, 2])
