"""Where a student's code runs: named operations on the objects it builds.

The same workbench serves a student's own run (in this process) and a graded one (in a worker).
Every operation takes and returns plain data, see :mod:`grader.candidate.values`.
"""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from grader.candidate import accelerator
from grader.candidate.faults import Unusable
from grader.candidate.loading import Live, Loader
from grader.candidate.observation import CountOperations, refusing, watch_over
from grader.candidate.plots import forget_figures
from grader.candidate.values import plain


class Workbench:
    """The operations, each a method named ``do_<operation>``.

    ``homes`` maps a name to its file in ``folder``; ``refused`` maps a name to the library calls
    refused while its code runs. With ``objects`` the names stand there, and no file is imported.
    """

    def __init__(
        self,
        folder: Path,
        homes: Mapping[str, str],
        refused: Mapping[str, Sequence[str]],
        objects: Mapping[str, object] | None = None,
    ) -> None:
        self.folder = folder
        self._loader = Loader(folder, homes) if objects is None else Live(objects)
        self._refused = {name: tuple(calls) for name, calls in refused.items()}
        watch_over({call for calls in self._refused.values() for call in calls})
        self._built: dict[int, tuple[str, Any]] = {}
        self.accelerator = accelerator.prepare()  # before any backward pass
        os.environ.setdefault("MPLBACKEND", "Agg")  # a plot must neither need a screen nor wait for anyone

    def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out one operation. Raises what the student's code raises, Refusal or Unusable."""
        action = getattr(self, f"do_{operation}", None)
        if action is None:
            raise Unusable(f"there is no operation {operation!r}")
        return action(**arguments)

    def do_begin(self, seed: int) -> None:
        """A new test: forget what the last one built, and draw from ``seed``."""
        self._built.clear()
        forget_figures()
        random.seed(seed)
        # not torch.manual_seed: where CUDA was never used it notes a stack trace for later, every time
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.manual_seed_all(seed)

    def do_load(self, name: str) -> dict[str, Any]:
        """Import the file that defines ``name``; says where its code starts."""
        return _where(self._find(name), self.folder)

    def do_build(self, handle: int, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Construct the class ``name``, known as number ``handle`` from now on."""
        kind = self._find(name)
        if not isinstance(kind, type):
            raise Unusable(f"{name} must be a class, it is {type(kind).__name__}.")
        with refusing(self._refused.get(name, ())):
            built = kind(*args, **kwargs)
        self._built[handle] = (name, built)

    def do_parameters(self, handle: int) -> dict[str, Any]:
        """The named parameters, shared ones under each of their names."""
        return {name: plain(tensor) for name, tensor in self._parameters(handle).items()}

    def do_set_parameters(self, handle: int, values: Mapping[str, torch.Tensor]) -> None:
        """Copy ``values`` into the parameters of those names, whatever the class's own loading does."""
        parameters = self._parameters(handle)
        name = self._built[handle][0]
        for key, value in values.items():
            target = parameters.get(key)
            if target is None:
                has = ", ".join(sorted(parameters)[:12]) or "none"
                raise Unusable(f"{name} has no parameter called {key}. The parameters it has: {has}.")
            if tuple(target.shape) != tuple(value.shape):
                raise Unusable(
                    f"the parameter {key} of {name} has shape {tuple(target.shape)}, "
                    f"here it must have {tuple(value.shape)} (nn.Linear keeps its matrix as out x in)."
                )
            with torch.no_grad():
                target.copy_(value)

    def do_call(
        self,
        handle: int,
        method: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        device: str | None,
        echo: bool,
    ) -> dict[str, Any]:
        """Call a method; the value, where its tensors live and, with ``echo``, the arguments afterwards."""
        return self._called(
            self._method(handle, method), self._built_name(handle), args, kwargs, device, echo
        )

    def do_calls(self, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Several calls, see ``call``; none finds what another made of a tensor given to both."""
        return [
            self.do_call(**{**call, "args": plain(call["args"]), "kwargs": plain(call["kwargs"])}, echo=False)
            for call in calls
        ]

    def do_shapes(self, handle: int, args: Sequence[Any]) -> Any:
        """The shapes of what a call returns, in its own nesting: for answers too large to send about."""
        with refusing(self._refused.get(self._built_name(handle), ())):
            value = self._method(handle, "forward")(*args)
        return _shapes(value)

    def do_apply(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], device: str | None
    ) -> dict[str, Any]:
        """Call a function of a file by its name; as ``call``."""
        function, owner = self._target(None, name)
        return self._called(function, owner, args, kwargs, device, echo=True)

    def _called(
        self,
        function: Any,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        device: str | None,
        echo: bool,
    ) -> dict[str, Any]:
        args, kwargs = _to_device([*args], device), _to_device({**kwargs}, device)
        with refusing(self._refused.get(name, ())):
            value = function(*args, **kwargs)
        return {
            "value": plain(value),
            "args": plain(args) if echo else [],
            "kwargs": plain(kwargs) if echo else {},
            "devices": sorted({str(tensor.device) for tensor in _tensors(value)}),
        }

    def do_gradients(
        self,
        handle: int | None,
        method: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        cotangents: Sequence[torch.Tensor | None],
        device: str | None,
    ) -> dict[str, Any]:
        """Differentiate the outputs, weighted by ``cotangents``, for floating ``args`` and parameters.

        ``method`` is a method of the object ``handle``, or without one a function of a file.
        ``inputs`` and ``parameters`` hold None where no gradient arrives; both are None when an
        output does not have its cotangent's shape (the caller sees that in ``value``).
        """
        args = [_leaf(argument) for argument in _to_device([*args], device)]
        kwargs = _to_device({**kwargs}, device)
        parameters = {} if handle is None else self._parameters(handle)
        target, owner = self._target(handle, method)
        with refusing(self._refused.get(owner, ())), torch.enable_grad():
            value = target(*args, **kwargs)
            outputs = list(value) if _is(value, tuple, list) else [value]
            chosen = [
                (out, cot.to(out.device, out.dtype))
                for out, cot in zip(outputs, cotangents, strict=False)
                if cot is not None and _is(out, torch.Tensor)
            ]
            result: dict[str, Any] = {"value": plain(value), "inputs": None, "parameters": None}
            if any(out.shape != cot.shape for out, cot in chosen) or not chosen:
                return result
            reached = [(out, cot) for out, cot in chosen if out.requires_grad]
            leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
            targets = [*leaves, *(p for p in parameters.values() if p.requires_grad)]
            grads = dict.fromkeys(map(id, targets))
            if reached and targets:
                found = torch.autograd.grad(
                    [out for out, _ in reached], targets, [cot for _, cot in reached], allow_unused=True
                )
                grads.update(zip(map(id, targets), found, strict=True))
        result["inputs"] = [plain(grads.get(id(argument))) for argument in args]
        result["parameters"] = {name: plain(grads.get(id(p))) for name, p in parameters.items()}
        return result

    def do_train(self, handle: int, mode: bool) -> None:
        """``train()`` or, with ``mode`` false, ``eval()``."""
        self._module(handle).train(mode)

    def do_to(self, handle: int, device: str | None, dtype: str | None) -> None:
        """Move the module, and its parameters' type (a name such as ``float64``).

        The device ``accelerator`` is this machine's own, or the simulated one.
        """
        kind = None if dtype is None else getattr(torch, dtype)
        moved = accelerator.moved(self._module(handle), accelerator.device_called(device), kind)
        self._built[handle] = (self._built[handle][0], moved)

    def do_count(
        self, handle: int | None, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> dict[str, int]:
        """How often each tensor operation runs in one call of a method, or of a function without handle."""
        target, owner = self._target(handle, name)
        with refusing(self._refused.get(owner, ())), CountOperations() as counting, torch.no_grad():
            target(*args, **kwargs)
        return dict(counting.counts)

    def _find(self, name: str) -> Any:
        return self._loader.find(name)

    def _target(self, handle: int | None, name: str) -> tuple[Any, str]:
        """A method of the object ``handle``, or without one a function; and under whose name it is refused
        library calls."""
        if handle is not None:
            return self._method(handle, name), self._built_name(handle)
        function = self._find(name)
        if not callable(function):
            raise Unusable(f"{name} must be a function, it is {type(function).__name__}.")
        return function, name

    def _built_name(self, handle: int) -> str:
        if handle not in self._built:
            raise Unusable("this object was built in an earlier test")
        return self._built[handle][0]

    def _module(self, handle: int) -> nn.Module:
        name, built = self._built_name(handle), self._built[handle][1]
        if not isinstance(built, nn.Module):
            raise Unusable(f"{name} must be a torch.nn.Module, it is a plain {type(built).__name__}.")
        return built

    def _method(self, handle: int, method: str) -> Any:
        name, built = self._built_name(handle), self._built[handle][1]
        # through __call__, so that what the student may have hooked there runs as it would in use
        found = built if method == "forward" else getattr(built, method, None)
        if not callable(found):
            raise Unusable(f"{name} has no method {method}.")
        return found

    def _parameters(self, handle: int) -> dict[str, nn.Parameter]:
        module = self._module(handle)
        # unbound, so that an overridden named_parameters or state_dict cannot show other weights
        return dict(nn.Module.named_parameters(module, remove_duplicate=False))


def _where(found: Any, folder: Path) -> dict[str, Any]:
    try:
        file = Path(inspect.getsourcefile(found) or "").resolve().relative_to(folder.resolve()).as_posix()
        return {"file": file, "line": inspect.getsourcelines(found)[1]}
    except (TypeError, OSError, ValueError, IndexError):
        return {"file": "", "line": 0}


def _leaf(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor) and argument.is_floating_point():
        return argument.detach().clone().requires_grad_()
    return argument


def _to_device(value: Any, device: str | None) -> Any:
    if device is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.to(accelerator.device_called(device))
    if isinstance(value, list):
        return [_to_device(part, device) for part in value]
    if isinstance(value, dict):
        return {key: _to_device(part, device) for key, part in value.items()}
    return value


def _is(value: Any, *kinds: type) -> bool:
    """Whether the value is of one of these kinds, whatever it says of its class."""
    return issubclass(type(value), kinds)


def _shapes(value: Any) -> Any:
    """Tensors replaced by their shapes, as far as values nest in tuples and lists."""
    if _is(value, tuple, list):
        return [_shapes(part) for part in value[:16]]
    return tuple(value.shape) if _is(value, torch.Tensor) else None


def _tensors(value: Any) -> list[torch.Tensor]:
    if _is(value, torch.Tensor):
        return [value]
    if _is(value, tuple, list):
        return [tensor for part in value for tensor in _tensors(part)]
    if _is(value, dict):
        return [tensor for part in dict.values(value) for tensor in _tensors(part)]
    return []
