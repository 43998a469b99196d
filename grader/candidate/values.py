"""Plain data, the only thing that crosses the wall.

A value is None, bool, int, float, str, a tensor, or a list, tuple or dict of values. A figure
arrives as what it shows, see :class:`Described`. Whatever else a student's code returns arrives
as an :class:`Opaque`, which only knows its type's name, so a false ``__eq__``, a tensor subclass
or a made-up ``.shape`` cannot survive the crossing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.candidate import plots

MAX_DEPTH = 16
MAX_NODES = 20_000
MAX_TEXT = 64 * 1024
MAX_TENSORS = 256
MAX_BITS = 64
MAX_DIMENSIONS = 16  # printing a tensor of a thousand takes more frames than there are

_TAG = "$"  # the key that marks a JSON object as something that JSON itself does not have
_SCALARS = frozenset({bool, int, float, str})
CROSSING_DTYPES = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    }
)


class MalformedValue(ValueError):
    """Bytes that are not a value of ours, or a value beyond the limits."""


@dataclass(frozen=True)
class Opaque:
    """Something that is not plain data; all that is known of it is the name of its type."""

    type_name: str


@dataclass(frozen=True)
class Described:
    """Something that cannot cross itself, but whose content can: its type's name and that content.

    So far a matplotlib figure, with what :func:`grader.candidate.plots.facts_of` says of it.
    """

    type_name: str
    facts: dict[str, Any]


@dataclass(frozen=True)
class TensorFacts:
    """What the worker says of a tensor besides its values."""

    device: str
    requires_grad: bool


# past a metaclass, which may claim what it likes of its classes
_qualified = type.__dict__["__qualname__"].__get__
_namespace = type.__dict__["__dict__"].__get__


def type_name(value: object) -> str:
    """The type's name as its author would write it, whatever the object claims to be."""
    kind = type(value)
    name, module = _qualified(kind), _namespace(kind).get("__module__")
    own = type(module) is not str or module in {"builtins", "__main__"}
    return legible(name if own else f"{module}.{name}")[:200]


def legible(text: str) -> str:
    """``text`` without lone surrogates, which no file and no terminal would take."""
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(value: object) -> Any:
    """``value`` as plain data that shares nothing with the student's objects.

    Tensors are detached, copied and brought to the CPU. Raises MalformedValue beyond the limits.
    """
    return _Plain().convert(value, 0)


class _Plain:
    def __init__(self) -> None:
        self._nodes = 0
        self._tensors = 0

    def convert(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise MalformedValue("the value is nested too deeply or has too many parts")
        kind = type(value)  # isinstance would also believe a made-up __class__
        if value is None or kind in (bool, float):
            return value
        if issubclass(kind, int):
            number = int.__index__(value)
            return number if number.bit_length() <= MAX_BITS else Opaque("an integer of more than 64 bits")
        if issubclass(kind, float):
            return float.__float__(value)
        if issubclass(kind, str):
            return legible(str.__str__(value)[:MAX_TEXT])
        if issubclass(kind, torch.Tensor):
            return self._tensor(value)
        if issubclass(kind, tuple):
            return tuple(self.convert(part, depth + 1) for part in tuple.__iter__(value))
        if issubclass(kind, list):
            return [self.convert(part, depth + 1) for part in list.__iter__(value)]
        if issubclass(kind, dict):
            return {self._key(key): self.convert(part, depth + 1) for key, part in dict.items(value)}
        if issubclass(kind, torch.dtype | torch.device):
            return str(value)
        if plots.is_figure(value):
            return Described(type_name(value), self.convert(plots.facts_of(value), depth + 1))
        return Opaque(type_name(value))

    def _key(self, key: Any) -> str | int:
        if issubclass(type(key), str):
            return legible(str.__str__(key)[:MAX_TEXT])
        if type(key) is int and key.bit_length() <= MAX_BITS:
            return key
        raise MalformedValue("a dictionary's keys must be text or whole numbers")

    def _tensor(self, tensor: torch.Tensor) -> Any:
        self._tensors += 1
        if self._tensors > MAX_TENSORS:
            raise MalformedValue(f"the value holds more than {MAX_TENSORS} tensors")
        # without a subclass's own functions: what it says of itself is not what it is
        with torch._C.DisableTorchFunctionSubclass():
            base = torch.Tensor.detach(tensor)
            if base.layout is not torch.strided or base.dtype not in CROSSING_DTYPES or base.is_meta:
                return Opaque(f"a {base.layout} tensor of {base.dtype} on {base.device.type}")
            if base.dim() > MAX_DIMENSIONS:
                return Opaque(f"a tensor of {base.dim()} dimensions")
            copy = laid_out(base.cpu(), base.stride())
        return copy if type(copy) is torch.Tensor else Opaque(type_name(tensor))


def laid_out(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """A copy of ``tensor`` with the given layout in memory, where a dimension of stride 0 repeats."""
    copy = target = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
    for dim, stride in enumerate(strides):
        if stride == 0 and tensor.shape[dim] > 1:  # one element that stands for all: written once
            target, tensor = target.narrow(dim, 0, 1), tensor.narrow(dim, 0, 1)
    try:
        target.copy_(tensor)
    except RuntimeError:  # windows that overlap: no copy can be laid out like that
        return tensor.clone()
    return copy


def encode(value: object) -> tuple[object, dict[str, torch.Tensor]]:
    """Plain data as a JSON tree and the tensors it refers to by number."""
    tensors: dict[str, torch.Tensor] = {}
    names: dict[int, str] = {}

    def tree(part: object) -> object:
        kind = type(part)
        if part is None or kind in _SCALARS:
            return part
        if kind is list:
            return [tree(item) for item in part]  # type: ignore[attr-defined]
        match part:
            case dict() if _TAG not in part and all(type(key) is str for key in part):
                return {key: tree(item) for key, item in part.items()}
            case dict():
                return {_TAG: "dict", "v": [[key, tree(item)] for key, item in part.items()]}
            case tuple():
                return {_TAG: "tuple", "v": [tree(item) for item in part]}
            case torch.Tensor():
                # one tensor in two places is sent once, and is one tensor at the other end
                name = names.setdefault(id(part), str(len(tensors)))
                tensors[name] = part
                if part.is_contiguous():
                    return {_TAG: "tensor", "n": name}
                return {_TAG: "tensor", "n": name, "strides": list(part.stride())}
            case Opaque():
                return {_TAG: "opaque", "v": part.type_name}
            case Described():
                return {_TAG: "described", "v": [part.type_name, tree(part.facts)]}
            case _:
                raise MalformedValue(f"{kind.__name__} is not plain data")

    return tree(value), tensors


def decode(tree: object, tensors: dict[str, torch.Tensor], *, keep_strides: bool = False) -> Any:
    """The value that :func:`encode` wrote. Raises MalformedValue for anything else.

    With ``keep_strides`` a tensor gets back its layout in memory: only the worker asks for that,
    of an examiner it trusts.
    """
    nodes = 0

    def value(part: object, depth: int) -> Any:
        nonlocal nodes
        nodes += 1
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise MalformedValue("the value is nested too deeply or has too many parts")
        kind = type(part)  # JSON has no others than these
        if part is None or kind is bool or kind is float:
            return part
        if isinstance(part, int | str):
            return scalar(part)
        if isinstance(part, list):
            return [value(item, depth + 1) for item in part]
        if not isinstance(part, dict):
            raise MalformedValue("a part of the value is none of JSON's kinds")
        if _TAG not in part:
            return {scalar(key): value(item, depth + 1) for key, item in part.items()}
        mark, content = part[_TAG], part.get("v")
        if mark == "tensor":
            return tensor(part.get("n"), part.get("strides"))
        reader = readers.get(mark) if isinstance(mark, str) else None
        if reader is None:
            raise MalformedValue("a part of the value has an unknown mark")
        return reader(content, depth)

    def scalar(part: int | str) -> int | str:
        if isinstance(part, str):
            if len(part) > MAX_TEXT:
                raise MalformedValue("a text is longer than a text may be")
            return legible(part)
        if part.bit_length() > MAX_BITS:
            raise MalformedValue(f"a number has more than {MAX_BITS} bits")
        return part

    def tensor(name: object, strides: object) -> torch.Tensor:
        if not isinstance(name, str) or name not in tensors:
            raise MalformedValue("the value refers to a tensor that was not sent")
        found = tensors[name]
        if keep_strides and isinstance(strides, list):
            return laid_out(found, strides)
        return found

    def items(content: object, depth: int) -> tuple[Any, ...]:
        if not isinstance(content, list):
            raise MalformedValue("a list was expected")
        return tuple([value(item, depth + 1) for item in content])

    def mapping(content: object, depth: int) -> dict[str | int, Any]:
        if not isinstance(content, list):
            raise MalformedValue("pairs were expected")
        result: dict[str | int, Any] = {}
        for pair in content:
            if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) not in (str, int):
                raise MalformedValue("a pair of key and value was expected")
            result[scalar(pair[0])] = value(pair[1], depth + 1)
        return result

    def opaque(content: object, _: int) -> Opaque:
        if not isinstance(content, str):
            raise MalformedValue("a type's name was expected")
        return Opaque(legible(content[:200]))

    def described(content: object, depth: int) -> Described:
        if not isinstance(content, list) or len(content) != 2:
            raise MalformedValue("a type's name and a description were expected")
        facts = value(content[1], depth + 1)
        if not isinstance(facts, dict):
            raise MalformedValue("a description was expected")
        return Described(opaque(content[0], depth).type_name, facts)

    readers: dict[str, Callable[[object, int], Any]] = {
        "tuple": items,
        "dict": mapping,
        "opaque": opaque,
        "described": described,
    }
    return value(tree, 0)
