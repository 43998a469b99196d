"""What can be seen of a call while it runs: refused library functions, and operation counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.candidate.faults import Refusal


def refusal_message(name: str) -> str:
    short = name.rpartition(".")[2]
    return (
        f"{short} is refused in this exercise: it is about building attention yourself, "
        "from matrix products, a softmax and the mask. Write those steps out instead."
    )


# Where else in torch a function can be reached, besides the place its public name says.
_OTHER_PLACES = (torch._C._nn, torch.ops.aten, torch)

# Parts of the names of what those functions end in. Where one of them is refused, so is what has such a name:
# an operation asked of the dispatcher, or the original taken out of what was put in its place.
_KERNELS = ("scaled_dot_product", "multi_head_attention", "flex_attention", "transformer_encoder_layer")

_armed: frozenset[str] = frozenset()  # the dotted names that are refused at this moment


@contextmanager
def refusing(names: Iterable[str]) -> Iterator[None]:
    """Within it, calling a function of ``names`` (dotted) raises Refusal, and so does building a class."""
    global _armed
    before, _armed = _armed, frozenset(names)
    try:
        with _WatchKernels() if _armed else nullcontext():
            yield
    finally:
        _armed = before


class _WatchKernels(TorchFunctionMode):
    """Sees every function of torch's that Python calls, by whatever way it was found."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if any(part in name for part in _KERNELS):
            raise Refusal(refusal_message(name))
        return func(*args, **(kwargs or {}))


def watch_over(names: Iterable[str]) -> None:
    """Prepare for ``refusing`` these names; to be called before a student's file is imported.

    Each is exchanged, where it lives, for a function that looks whether it is refused just now, so
    that an alias the file makes is watched, too, and classes whose constructor calls nothing.
    """
    for name in names:
        for place, attribute in _places(name):
            original = getattr(place, attribute)
            if not hasattr(original, "_watched"):
                setattr(place, attribute, _watched(name, original))


def _places(dotted: str) -> list[tuple[Any, str]]:
    """Each object and attribute under which the function, or the class's constructor, is found."""
    home, _, attribute = dotted.rpartition(".")
    found = getattr(_resolve(home), attribute, None)
    if isinstance(found, type):
        return [(found, "__init__")]
    others = [(place, attribute) for place in _OTHER_PLACES if hasattr(place, attribute)]
    return [(_resolve(home), attribute), *others] if found is not None else others


def _watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        if name in _armed:
            raise Refusal(refusal_message(name))
        return original(*args, **kwargs)

    function._watched = True  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = getattr(original, "__name__", name.rpartition(".")[2])
    function.__doc__ = original.__doc__
    return function


def _resolve(dotted: str) -> Any:
    found: object = torch
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
    return found


class CountOperations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the tensor operations that reach a kernel, by name (``aten.bmm``, ``aten.add``...)."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.counts[str(func.overloadpacket)] += 1
        return func(*args, **(kwargs or {}))
