"""The accelerator a candidate is tried on: a real one where there is one, otherwise a simulated one.

The simulated accelerator is a device of its own to PyTorch, on any build: its tensors carry CPU
tensors and refuse to meet others, as those on a GPU do. Values and gradients are the CPU's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._mode_utils import no_dispatch

from grader.candidate.faults import HARD_CODED_DEVICE

ACCELERATOR = "accelerator"  # as a device: whichever of the two there is
SIMULATED = "simulated"  # the simulated device's type, as torch prints it

# the variables that choose which of a machine's devices a process sees
CHOSEN_BY = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")

aten = torch.ops.aten

# These copy between devices; on a GPU nothing else may.
_COPIES = frozenset({aten.copy_.default, aten._to_copy.default, aten._copy_from.default})
# A GPU takes indices that lie on the CPU, too.
_INDEXING = frozenset(
    {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
)
# Operations with a kernel of their own, because the fallback comes too late or not at all: factories
# that size their result after it was made, and the copy with which torch.tensor(..., device=) ends.
_OWN_KERNELS = (
    *("arange", "arange.start", "arange.start_step", "eye", "eye.m", "linspace", "randperm", "range"),
    "copy_",
)


@dataclass(frozen=True)
class Accelerator:
    """A device other than the CPU: its type, as in ``cuda``, and whether it is simulated."""

    name: str
    simulated: bool

    def __str__(self) -> str:
        return f"{SIMULATED} accelerator" if self.simulated else self.name

    @property
    def phrase(self) -> str:
        """The accelerator within a sentence."""
        return f"a {self}" if self.simulated else f"an accelerator, {self}"

    def holds(self, device: str) -> bool:
        """Whether a tensor that says it lives on ``device`` lives here."""
        return device.partition(":")[0] == self.name


def prepare() -> Accelerator:
    """The accelerator of this process; the simulated one is put up if there is no real one.

    To be called before the first backward pass: autograd counts the devices then, once and for all.
    """
    real = real_accelerator()
    if real is None:
        _put_up()
    return Accelerator(real or SIMULATED, real is None)


@cache
def real_accelerator() -> str | None:
    """The type of the real accelerator, such as ``cuda``; None on a machine without one.

    Asks the driver only for a count, so that forks of this process can still use the device.
    """
    if torch._C._get_privateuse1_backend_name() == SIMULATED:
        return None
    before = os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK")
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    try:
        found = torch.accelerator.current_accelerator(check_available=True)
    finally:
        del os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"]
        if before is not None:
            os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = before
    return None if found is None else found.type


def device_called(name: str | None) -> torch.device | None:
    """The device of that name, where ``accelerator`` means whichever there is."""
    if name is None:
        return None
    return torch.device(prepare().name, 0) if name == ACCELERATOR else torch.device(name)


def moved(module: nn.Module, device: torch.device | None, dtype: torch.dtype | None) -> nn.Module:
    """``module.to(device, dtype)``; each parameter stays the object it is, as with a real device."""
    parameters = nn.Module.named_parameters(module)  # whatever the class says of its own
    places = {device, *(parameter.device for _, parameter in parameters)}
    if any(place is not None and place.type == SIMULATED for place in places):
        with contextlib.suppress(RuntimeError), _swapping():
            return module.to(device, dtype)
    return module.to(device, dtype)


@contextlib.contextmanager
def _swapping() -> Iterator[None]:
    """Within it, ``Module.to`` swaps what is in a parameter instead of replacing the parameter."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


class SimulatedTensor(Tensor):
    """A tensor of the simulated device: the shape outside, a CPU tensor with the values inside."""

    held: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> SimulatedTensor:
        made: SimulatedTensor = Tensor._make_wrapper_subclass(
            cls,
            values.size(),
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            layout=values.layout,
            device=torch.device(SIMULATED, 0),
        )
        made.held = values
        return made

    # what operations return is made in __torch_dispatch__, below autograd
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _run(func, args, kwargs or {})

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        Tensor.data.__set__(self, other)  # type: ignore[attr-defined]
        self.held = _inside(other)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{self.held!r}".removesuffix(")") + f", device='{self.device}')"

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. NumPy lives on the CPU: keep to "
            "PyTorch's own operations, which work wherever the tensor is."
        )

    def cuda(self, *_: Any, **__: Any) -> Tensor:
        raise RuntimeError(f"the tensor is on {self.device}. {HARD_CODED_DEVICE}")


def _run(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Carry out one operation that concerns the simulated device, on the CPU values inside."""
    flat = _leaves((args, kwargs))
    target = next((part for part in flat if isinstance(part, torch.device)), None)
    _refuse_mixture(func, args, kwargs, flat)
    given: dict[int, Tensor] = {}  # by what is inside, the tensor that was passed

    def inside(part: Any) -> Any:
        found = _inside(part)
        if isinstance(part, Tensor):
            given[id(found)] = part
        return found

    found = func(*_replaced(args, inside), **_replaced(kwargs, inside))
    if torch.Tag.inplace_view in func.tags:  # the shape outside has to follow
        with no_dispatch():
            func(*args, **kwargs)
    if target is not None and target.type != SIMULATED:
        return found

    def outside(part: Any) -> Any:
        if not isinstance(part, Tensor):
            return part
        return given[id(part)] if id(part) in given else SimulatedTensor(part)

    return _replaced(found, outside)


# An operation's arguments and results nest in lists, tuples and dicts alone. PyTorch's own walk
# through such trees serves any class, and takes several times as long as the operation itself.
def _leaves(tree: Any) -> list[Any]:
    """What is neither list, tuple nor dict in ``tree``, from left to right."""
    if isinstance(tree, list | tuple):
        return [leaf for part in tree for leaf in _leaves(part)]
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in _leaves(part)]
    return [tree]


def _replaced(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """The same tree with ``leaf`` of each of its leaves; a tuple of any kind becomes a plain one."""
    if isinstance(tree, list):
        return [_replaced(part, leaf) for part in tree]
    if isinstance(tree, tuple):
        return tuple([_replaced(part, leaf) for part in tree])
    if isinstance(tree, dict):
        return {key: _replaced(part, leaf) for key, part in tree.items()}
    return leaf(tree)


def _inside(part: Any) -> Any:
    if isinstance(part, SimulatedTensor):
        return part.held
    if isinstance(part, torch.device) and part.type == SIMULATED:
        return torch.device("cpu")
    return part


def _refuse_mixture(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], flat: Sequence[Any]) -> None:
    """Raises RuntimeError where an operation on a GPU would: its tensors live in two places."""
    if func in _COPIES or not any(isinstance(part, SimulatedTensor) for part in flat):
        return
    looked_up = _leaves(args[1]) if func in _INDEXING else []
    allowed = {id(part) for part in looked_up if isinstance(args[0], SimulatedTensor)}
    strangers = [part for part in flat if _is_stranger(part) and id(part) not in allowed]
    found = next((part for part in strangers if part.dim() > 0), None)
    if found is None:  # a single number from the CPU may be read, but takes no result
        written = [_argument(func, at, args, kwargs) for at in _writes(func)]
        found = next((part for part in written if _is_stranger(part)), None)
    if found is not None:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, "
            f"{SIMULATED}:0 and cpu! A tensor of shape {tuple(found.shape)} lies on the CPU and meets one "
            f"that lies on the accelerator, in {func.overloadpacket.__name__}. It was made there, taken "
            "there, or left behind when the layer was moved: make each tensor on the device of the input, "
            "and let the layer know of those it keeps."
        )


def _is_stranger(part: object) -> bool:
    return isinstance(part, Tensor) and not isinstance(part, SimulatedTensor)


@cache
def _writes(func: Any) -> tuple[int, ...]:
    """The places of the arguments that the operation writes into."""
    arguments = func._schema.arguments
    return tuple(at for at, given in enumerate(arguments) if given.alias_info and given.alias_info.is_write)


def _argument(func: Any, at: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return args[at] if at < len(args) else kwargs.get(func._schema.arguments[at].name)


class _Backend:
    """What ``torch.simulated`` is: the little that PyTorch's own Python code asks of a device."""

    @staticmethod
    def is_available() -> bool:
        """False: code that looks for an accelerator by itself finds none, as without us."""
        return False

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Its numbers are drawn from the CPU's generator, which has been seeded."""

    @staticmethod
    def device(_: object) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    @staticmethod
    def get_rng_state(_: object = None) -> Tensor:
        return torch.get_rng_state()

    @staticmethod
    def set_rng_state(state: Tensor, _: object = None) -> None:
        torch.set_rng_state(state)

    @staticmethod
    def synchronize(_: object = None) -> None:
        pass

    @staticmethod
    def get_amp_supported_dtype() -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


_kernels: list[torch.library.Library] = []  # they are withdrawn when these are let go


def _put_up() -> None:
    """Make the simulated device known to PyTorch, once in a process and its forks."""
    if _kernels:
        return
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend(SIMULATED, backend_module=_Backend())
    everything = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    everything.fallback(lambda func, *args, **kwargs: _run(func, args, kwargs), "PrivateUse1")  # type: ignore[no-untyped-call]
    single = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for name in _OWN_KERNELS:
        single.impl(name, _kernel(name), "PrivateUse1")  # type: ignore[no-untyped-call]
    _kernels.extend((everything, single))


def _kernel(name: str) -> Callable[..., Any]:
    packet, _, overload = name.partition(".")
    func = getattr(getattr(aten, packet), overload or "default")
    return lambda *args, **kwargs: _run(func, args, kwargs)
