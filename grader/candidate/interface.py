"""The one way to talk to a candidate, whether it runs in this process or behind the wall.

Test suites are written against :class:`Candidate` and :class:`Model` alone. What differs is the
:class:`Transport` underneath: local (a student's own run) or isolated (grading).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeGuard

import torch

from grader.candidate.accelerator import Accelerator
from grader.candidate.faults import CandidateError, Died, Line, Nonsense, NotHandedIn, NotUsable, OutOfTime

# The share of a call's time that a file gets after so many time-outs in a row. After the last of
# them its code is taken to hang and is not waited for again.
PATIENCE = (1.0, 0.25, 0.1)

# the operations that run a method or function of the student's, as against building or setting up
_STUDENTS_OWN = frozenset({"call", "calls", "shapes", "apply", "gradients", "count"})


Step = tuple[str, Mapping[str, Any]]  # an operation and its arguments


class Transport(Protocol):
    """Carries operations to a workbench and plain data back."""

    @property
    def generation(self) -> int:
        """Rises by one whenever the worker behind it was replaced and what it had built is lost."""

    @property
    def isolation(self) -> str:
        """The level of isolation: ``none``, ``process``, ``confined`` or ``namespaced``."""

    def request(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        patience: float = 1.0,
        before: Sequence[Step] = (),
    ) -> Any:
        """The operation's value, waited for ``patience`` times a call's usual time.

        ``before`` are operations to carry out first, whose values nobody needs; one that fails is
        raised as if it were the operation itself. Raises CandidateError, or HostFailed for a
        fault of ours.
        """

    def accelerator(self) -> Accelerator:
        """What the device ``accelerator`` stands for where the candidate runs.

        Raises CandidateError, or HostFailed for a fault of ours.
        """

    def close(self) -> None:
        """End the worker, if there is one."""


@dataclass(frozen=True)
class Call:
    """A call seen from outside: its value, its arguments afterwards, where its tensors live."""

    value: Any
    args: list[Any]
    kwargs: dict[str, Any]
    devices: list[str]


@dataclass(frozen=True)
class Gradients:
    """Outputs and gradients. A gradient is None where none arrives; both lists are None when the
    outputs do not have the cotangents' shapes."""

    value: Any
    inputs: list[torch.Tensor | None] | None
    parameters: dict[str, torch.Tensor | None] | None


class Candidate:
    """A submission's code: build its classes, call its functions.

    ``homes`` maps a name to the file that defines it; ``problems`` says, for a name that cannot be
    examined, why not; ``originals`` how the student knows a file, where that is not its name here.
    """

    def __init__(
        self,
        transport: Transport,
        homes: Mapping[str, str],
        problems: Mapping[str, str] | None = None,
        originals: Mapping[str, str] | None = None,
    ) -> None:
        self._transport = transport
        self._homes = dict(homes)
        self._problems = dict(problems or {})
        self._originals = dict(originals or {})
        self._loaded: dict[str, tuple[int, Line]] = {}
        self._broken: dict[str, CandidateError] = {}
        self._hangs: dict[str, int] = {}
        self._handles = itertools.count(1)
        self._queue: list[Step] = []  # what can wait for the next question, to save a round trip
        self._asked: str | None = None

    @property
    def isolation(self) -> str:
        return self._transport.isolation

    def accelerator(self) -> Accelerator:
        """What a model is moved to by ``to(device="accelerator")``: a real device, or a simulated one."""
        return self._transport.accelerator()

    def begin(self, seed: int) -> None:
        """Start a new test: earlier models are forgotten, the candidate's random numbers start anew."""
        self._queue = [("begin", {"seed": seed})]
        self._asked = None

    @property
    def asked(self) -> str | None:
        """The class or function that this test asked last; None before the first."""
        return self._asked

    def build(self, name: str, *args: Any, **kwargs: Any) -> Model:
        """An instance of the class ``name``, made with the given arguments.

        Raises CandidateError when the file cannot be imported or the constructor fails.
        """
        self.load(name)
        handle = next(self._handles)
        self._ask("build", name, handle=handle, name=name, args=list(args), kwargs=kwargs)
        return Model(self, name, handle, self._transport.generation)

    def prepare(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        weights: Mapping[str, torch.Tensor],
        dtype: torch.dtype | None = None,
    ) -> Model:
        """As ``build``, ``eval``, ``to`` and ``load`` in one, carried out with the first question.

        What goes wrong in them is raised by that question.
        """
        self.load(name)
        handle = next(self._handles)
        self._queue.append(
            ("build", {"handle": handle, "name": name, "args": list(args), "kwargs": dict(kwargs)})
        )
        model = Model(self, name, handle, self._transport.generation).eval()
        if dtype is not None:
            model.to(dtype=dtype)
        if weights:
            model.load(weights)
        return model

    def batch_call(self, calls: Sequence[tuple[Model, Sequence[Any], Mapping[str, Any]]]) -> list[Any]:
        """What calling each model returns, one after the other, asked in one round trip.

        Each call gets arguments of its own, also where the same tensor is given to several. They
        have the time of so many calls between them. What goes wrong first is raised.
        """
        for model, _, _ in calls:
            model._check_alive()
        asked = [
            {
                "handle": model._handle,
                "method": "forward",
                "args": list(args),
                "kwargs": dict(kwargs),
                "device": model._device,
            }
            for model, args, kwargs in calls
        ]
        found = self._ask("calls", calls[0][0].name, calls=asked)
        if not isinstance(found, list) or len(found) != len(calls):
            raise Nonsense("the worker's answer was not that of so many calls")
        return [_call(answer, 0, set()).value for answer in found]

    def apply(self, name: str, *args: Any, **kwargs: Any) -> Call:
        """Call the function ``name``; what became of the arguments and where the result lives come along."""
        return self._apply(None, name, args, kwargs)

    def apply_on(self, device: str, name: str, *args: Any, **kwargs: Any) -> Call:
        """Call the function ``name`` with its tensors on ``device``, see :meth:`Model.to`."""
        return self._apply(device, name, args, kwargs)

    def _apply(self, device: str | None, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
        self.load(name)
        found = self._ask("apply", name, name=name, args=list(args), kwargs=kwargs, device=device)
        return _call(found, len(args), set(kwargs))

    def gradients(
        self, name: str, *args: Any, cotangents: Sequence[torch.Tensor | None], **kwargs: Any
    ) -> Gradients:
        """Gradients of the function ``name``, as :meth:`Model.gradients`; it has no parameters."""
        self.load(name)
        asked = {"method": name, "args": list(args), "kwargs": kwargs, "cotangents": list(cotangents)}
        return _gradients(self._ask("gradients", name, handle=None, **asked, device=None), len(args))

    def count_operations(self, name: str, *args: Any, **kwargs: Any) -> dict[str, int]:
        """How often each tensor operation runs in one call of the function ``name``."""
        self.load(name)
        return _counts(self._ask("count", name, handle=None, name=name, args=list(args), kwargs=kwargs))

    def absence(self, names: Sequence[str]) -> str | None:
        """Why there is nothing to ask of any of these names; None when there is of one at least."""
        if any(name in self._homes and name not in self._problems for name in names):
            return None
        first = names[0]
        return self._problems.get(first, f"{first} was not handed in: no file defines it.")

    def load(self, name: str) -> Line:
        """Import the file that defines ``name`` if need be; where its definition starts.

        A file that failed to import once is not tried again.
        """
        if absence := self.absence([name]):
            raise NotHandedIn(absence)
        home = self._homes[name]
        for broken in (home, name):
            if broken in self._broken:
                raise self._broken[broken].with_traceback(None)
        generation, where = self._loaded.get(name, (-1, Line("", 0)))
        if generation == self._transport.generation:
            return where
        try:
            found = self._ask("load", name, name=name)
        except (Died, Nonsense):
            raise  # it may be the doing of what ran before in the same worker
        except CandidateError as error:
            # a name that the file lacks says nothing of the file's other names
            self._broken[name if isinstance(error, NotUsable) else home] = error
            raise
        if not isinstance(found, dict):
            raise Nonsense("the worker did not say what it loaded")
        file, line = found.get("file"), found.get("line")
        where = self._known(Line(file if isinstance(file, str) else "", line if type(line) is int else 0))
        self._loaded[name] = (self._transport.generation, where)
        return where

    def close(self) -> None:
        self._transport.close()

    def _ask(self, operation: str, name: str | None, /, **arguments: Any) -> Any:
        home = self._homes.get(name, "") if name else ""
        self._asked = name or self._asked
        hangs = self._hangs.get(home, 0)
        if hangs >= len(PATIENCE):
            raise OutOfTime(f"Not tried: {hangs} calls in a row into {home} ran out of time before this one.")
        try:
            before, self._queue = self._queue, []
            times = len(arguments["calls"]) if operation == "calls" else 1
            value = self._transport.request(operation, arguments, PATIENCE[hangs] * times, before)
        except CandidateError as error:
            error.lines = tuple(map(self._known, error.lines))
            if isinstance(error, OutOfTime):
                self._hangs[home] = self._hangs.get(home, 0) + 1
            raise
        if operation in _STUDENTS_OWN:
            self._hangs[home] = 0
        return value

    def _known(self, line: Line) -> Line:
        return replace(line, file=self._originals.get(line.file, line.file))


class Model:
    """An object that the candidate built. Every answer is plain data."""

    def __init__(self, candidate: Candidate, name: str, handle: int, generation: int) -> None:
        self._candidate = candidate
        self._handle = handle
        self._generation = generation
        self._device: str | None = None
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the object returns, that is, ``forward``'s value."""
        return self._call("forward", args, kwargs, echo=False).value

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """What a named method returns."""
        return self._call(method, args, kwargs, echo=False).value

    def watch(self, method: str, *args: Any, **kwargs: Any) -> Call:
        """Call a method and see also what became of the arguments and where the result lives."""
        return self._call(method, args, kwargs, echo=True)

    def _call(self, method: str, args: Sequence[Any], kwargs: dict[str, Any], *, echo: bool) -> Call:
        arguments = {"method": method, "args": list(args), "kwargs": kwargs, "device": self._device}
        found = self._ask("call", **arguments, echo=echo)
        return _call(found, len(args), set(kwargs)) if echo else _call(found, 0, set())

    def shapes(self, *args: Any) -> Any:
        """The shapes of what a call returns: a tuple for a tensor, a list of them for a pair."""
        return self._ask("shapes", args=list(args))

    def parameters(self) -> dict[str, torch.Tensor]:
        """The named parameters; one that is shared appears under each of its names."""
        found = self._ask("parameters")
        if not _is_named(found) or not all(isinstance(v, torch.Tensor) for v in found.values()):
            raise Nonsense("the worker's answer was not a set of parameters")
        return found

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Set named parameters, before the next question.

        That raises NotUsable for a name or shape that the model does not have.
        """
        self._later("set_parameters", values=dict(weights))

    def gradients(
        self,
        *args: Any,
        cotangents: Sequence[torch.Tensor | None],
        method: str = "forward",
        **kwargs: Any,
    ) -> Gradients:
        """Gradients of the outputs, each weighted by its cotangent (None: left out), for the
        floating-point positional arguments and every parameter."""
        found = self._ask(
            "gradients",
            method=method,
            args=list(args),
            kwargs=kwargs,
            cotangents=list(cotangents),
            device=self._device,
        )
        return _gradients(found, len(args))

    def train(self) -> Model:
        self._later("train", mode=True)
        return self

    def eval(self) -> Model:
        self._later("train", mode=False)
        return self

    def to(self, device: str | None = None, dtype: torch.dtype | None = None) -> Model:
        """Move the module; later calls get their tensors on ``device`` too.

        The device ``accelerator`` is whichever there is, see :meth:`Candidate.accelerator`.
        """
        self._later("to", device=device, dtype=None if dtype is None else str(dtype).removeprefix("torch."))
        self._device = device or self._device
        return self

    def count_operations(self, *args: Any, method: str = "forward", **kwargs: Any) -> dict[str, int]:
        """How often each tensor operation runs in one call."""
        return _counts(self._ask("count", name=method, args=list(args), kwargs=kwargs))

    def _ask(self, operation: str, /, **arguments: Any) -> Any:
        self._check_alive()
        return self._candidate._ask(operation, self.name, handle=self._handle, **arguments)

    def _later(self, operation: str, /, **arguments: Any) -> None:
        self._check_alive()
        self._candidate._queue.append((operation, {"handle": self._handle, **arguments}))

    def _check_alive(self) -> None:
        if self._generation != self._candidate._transport.generation:
            raise NotUsable("The worker that held this object was replaced; the object is gone.")


def _is_named(found: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(found, dict) and all(isinstance(name, str) for name in found)


def _call(found: Any, args: int, kwargs: set[str]) -> Call:
    """The answer as a call that was made with so many ``args`` and with ``kwargs`` of those names."""
    if (
        not isinstance(found, dict)
        or set(found) != {"value", "args", "kwargs", "devices"}
        or not isinstance(found["args"], list)
        or len(found["args"]) != args
        or not isinstance(found["kwargs"], dict)
        or set(found["kwargs"]) != kwargs
        or not isinstance(found["devices"], list)
    ):
        raise Nonsense("the worker's answer was not that of a call")
    return Call(found["value"], found["args"], found["kwargs"], [str(device) for device in found["devices"]])


def _gradients(found: Any, args: int) -> Gradients:
    """The answer as the gradients of a call that was made with so many ``args``."""
    if not isinstance(found, dict) or set(found) != {"value", "inputs", "parameters"}:
        raise Nonsense("the worker's answer was not a set of gradients")
    inputs, parameters = found["inputs"], found["parameters"]
    if inputs is None or parameters is None:
        return Gradients(found["value"], None, None)
    if not isinstance(inputs, list) or len(inputs) != args or not _is_named(parameters):
        raise Nonsense("the worker's answer was not a set of gradients")
    for gradient in (*inputs, *parameters.values()):
        if gradient is not None and not isinstance(gradient, torch.Tensor):
            raise Nonsense("a gradient was not a tensor")
    return Gradients(found["value"], inputs, parameters)


def _counts(found: Any) -> dict[str, int]:
    if not isinstance(found, dict) or not all(type(count) is int for count in found.values()):
        raise Nonsense("the worker's answer was not a count of operations")
    return {str(name): count for name, count in found.items()}
