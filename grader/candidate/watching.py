"""What can be seen of a call while it runs: refused library functions, and operation counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from .faults import Refusal


def refusal_message(name: str) -> str:
    short = name.rpartition(".")[2]
    return (
        f"{short} is refused in this exercise: it is about building attention yourself, "
        "from matrix products, a softmax and the mask. Write those steps out instead."
    )


class _RefuseFunctions(TorchFunctionMode):
    """Refuses torch functions by name, under whatever alias the student calls them."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self._names = names

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if self.refuses(func):
            raise Refusal(refusal_message(getattr(func, "__name__", "this function")))
        return func(*args, **(kwargs or {}))

    def refuses(self, func: Callable[..., Any]) -> bool:
        name = getattr(func, "__name__", "")
        if name not in self._names:
            return False
        full = resolve_name(func)
        return full is None or full.startswith(("torch.", "aten."))


@contextmanager
def refusing(names: Iterable[str]) -> Iterator[None]:
    """Within it, calling a function of ``names`` (dotted) raises Refusal.

    A module class among them (``torch.nn.MultiheadAttention``) is refused where it is built.
    """
    functions = frozenset(name.rpartition(".")[2] for name in names)
    if not functions:
        yield
        return
    classes = [found for name in names if isinstance(found := _resolve(name), type)]
    originals = [(cls, cls.__init__) for cls in classes]  # type: ignore[misc]
    try:
        for cls in classes:
            _refuse_construction(cls)
        with _RefuseFunctions(functions):
            yield
    finally:
        for cls, original in originals:
            cls.__init__ = original  # type: ignore[misc]


def _refuse_construction(cls: type) -> None:
    def refuse(self: object, *args: object, **kwargs: object) -> None:
        raise Refusal(refusal_message(cls.__name__))

    cls.__init__ = refuse  # type: ignore[misc]


def _resolve(dotted: str) -> object:
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
