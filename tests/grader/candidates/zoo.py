"""A submission with one small class or function for each thing that the contract speaks of."""

import collections
import enum
import math

import helper
import torch
import torch.nn as network
import torch.nn.functional as functional
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as harmless


class Affine(nn.Module):
    def __init__(self, d_in, d_out, scale=1.0):
        super().__init__()
        self.W = nn.Linear(d_in, d_out, bias=False)
        self.scale = scale

    def forward(self, x, mask=None):
        y = self.W(x) * self.scale
        return (y if mask is None else y * mask), y.sum()

    def double(self, x, *, times=2):
        return x * times


class Dropping(nn.Module):
    def forward(self, x):
        return functional.dropout(x, 0.5, self.training)


class Spoiling(nn.Module):
    def forward(self, x):
        x += 1
        return x


class Sharing(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = self.a


class Hiding(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Linear(2, 2, bias=False)

    def named_parameters(self, *args, **kwargs):
        return iter(())

    def state_dict(self, *args, **kwargs):
        return {}


class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.reached = nn.Linear(3, 3, bias=False)
        self.missed = nn.Linear(3, 3, bias=False)

    def forward(self, x, y):
        return self.reached(x) + self.missed(y).detach()


class Plain:
    def add(self, a, b):
        return a + b


class NotConstructed(nn.Module):
    def __init__(self):
        raise NotImplementedError("write me")


def echo(*args, **kwargs):
    return [*args, kwargs] if kwargs else args[0]


def layout(x):
    return list(x.shape), list(x.stride()), x.is_contiguous()


def spoil(x, extra):
    x.zero_()
    extra["seen"] = True


def scores():
    return torch.arange(6.0).view(2, 3)


class Lying(torch.Tensor):
    @property
    def shape(self):
        return torch.Size([7])

    def __eq__(self, other):
        return True

    def detach(self):
        return self


class EqualToAll:
    __class__ = float

    def __eq__(self, other):
        return True

    def __float__(self):
        return 1.0


class LyingMeta(type):
    __name__ = property(lambda cls: 1 / 0)

    def __getattribute__(cls, name):
        return 1 / 0 if name == "__qualname__" else super().__getattribute__(name)


Point = collections.namedtuple("Point", "x y")


def strange(kind):
    base = torch.arange(4.0)
    return {
        "subclass": lambda: scores().as_subclass(Lying),
        "parameter": lambda: nn.Parameter(scores()),
        "sharing": lambda: [base, base[1:], base],
        "conjugate": lambda: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
        "transposed": lambda: scores().T,
        "expanded": lambda: torch.ones(1, 3).expand(2, 3),
        "point": lambda: Point(1, [2]),
        "size": lambda: torch.ones(2, 3).shape,
        "ordered": lambda: collections.OrderedDict(a=1),
        "int": lambda: enum.IntEnum("Level", "LOW")(1),
        "str": lambda: type("Text", (str,), {"__str__": lambda self: "false"})("true"),
        "surrogate": lambda: "\ud800!",
    }[kind]()


def unspeakable(kind):
    return {
        "object": EqualToAll,
        "set": lambda: {1, 2},
        "sparse": lambda: torch.eye(2).to_sparse(),
        "complex": lambda: torch.tensor([1j]),
        "meta": lambda: torch.ones(2, device="meta"),
        "dimensions": lambda: torch.ones([1] * 1000),
        "huge": lambda: 10**5000,
        "metaclass": lambda: LyingMeta("Thing", (), {"__module__": 3})(),
        "function": lambda: echo,
        "module": lambda: math,
        "half": lambda: 3j,
    }[kind]()


def beyond(kind):
    nested = []
    for _ in range(40):
        nested = [nested]
    return {
        "deep": nested,
        "wide": [0] * 30_000,
        "tensors": [torch.ones(1)] * 300,
        "keys": {(1, 2): 3},
    }[kind]


class Interrupted(BaseException):
    pass


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no message for you")


class Masked(Exception, metaclass=LyingMeta):
    @property
    def __traceback__(self):
        raise RuntimeError("no traceback for you")

    @__traceback__.setter
    def __traceback__(self, value):
        pass

    @property
    def __class__(self):
        raise RuntimeError("no class for you")


def fail(kind):
    import bdb

    import pytest

    deeds = {
        "value": lambda: int("three"),
        "division": lambda: helper.divide(1, 0),
        "shapes": lambda: torch.ones(2) + torch.ones(3),
        "exit": lambda: exit(3),
        "base": lambda: throw(Interrupted("stop")),
        "generator": lambda: throw(GeneratorExit()),
        "skip": lambda: pytest.skip("skip me"),
        "pytest-exit": lambda: pytest.exit("leave"),
        "pytest-fail": lambda: pytest.fail("failed"),
        "mute": lambda: throw(Mute()),
        "masked": lambda: throw(Masked("x")),
        "long": lambda: throw(ValueError("x" * 100_000)),
        "surrogate": lambda: throw(ValueError("\udfff!")),
        "recursion": lambda: endless(1),
        "interrupt": lambda: throw(KeyboardInterrupt()),
        "quit": lambda: throw(bdb.BdbQuit()),
    }
    return deeds[kind]()


def throw(error):
    raise error


def endless(n):
    return endless(n + 1) + 1


def attend(kind):
    x = torch.ones(1, 3, 4)
    return {
        "from-import-as": lambda: harmless(x, x, x),
        "functional": lambda: functional.scaled_dot_product_attention(x, x, x),
        "torch": lambda: torch._C._nn.scaled_dot_product_attention(x, x, x),
        "operator": lambda: torch.ops.aten.scaled_dot_product_attention(x, x, x),
        "class": lambda: network.MultiheadAttention(4, 2),
        "subclass": lambda: type("Mine", (network.MultiheadAttention,), {})(4, 2),
        "built-before": lambda: BUILT_BEFORE(x, x, x),
        "encoder": lambda: network.TransformerEncoderLayer(4, 2),
    }[kind]()


BUILT_BEFORE = network.MultiheadAttention(4, 2)


def by_hand(x):
    return torch.softmax(x @ x.transpose(-1, -2), dim=-1) @ x


def multiply(x, count):
    for _ in range(count):
        x = x @ x
    return x


def never_asked_before():
    return "here"


NUMBER = 3
