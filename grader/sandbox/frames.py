"""Values as a frame's content, and back: a JSON header and a safetensors payload. Never pickle."""

from __future__ import annotations

import json
from typing import Any

import safetensors
import safetensors.torch
import torch

from grader.candidate.values import CROSSING_DTYPES, MAX_DIMENSIONS, MAX_TENSORS, MalformedValue

# a table of MAX_TENSORS tensors fits in well under half of it; parsing costs far more than its bytes
MAX_TABLE = 128 * 1024


def to_bytes(message: dict[str, object], tensors: dict[str, torch.Tensor]) -> tuple[bytes, bytes]:
    """A frame's two parts: the JSON header and the safetensors payload (empty without tensors)."""
    header = json.dumps(message, separators=(",", ":")).encode()
    if not tensors:
        return header, b""
    # the serializer itself, without its torch layer, which looks for shared memory with every frame;
    # it reads the memory it is pointed to, so what it points to must stay alive
    alive = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    described = {
        name: safetensors.TensorSpec(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=list(tensor.shape),
            data_ptr=tensor.data_ptr(),
            data_len=tensor.nbytes,
        )
        for name, tensor in alive.items()
    }
    return header, safetensors.serialize(described)


def from_bytes(header: bytes, payload: bytes) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The message and tensors of a frame. Raises MalformedValue for anything but a frame's content."""
    try:
        message = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise MalformedValue("the header is not JSON") from error
    if not isinstance(message, dict):
        raise MalformedValue("the header is not a JSON object")
    if not payload:
        return message, {}
    if int.from_bytes(payload[:8], "little") > MAX_TABLE:
        raise MalformedValue("the payload's table is larger than a table may be")
    try:
        tensors = safetensors.torch.load(payload)
    except Exception as error:  # which ones, for bytes that are anything at all, the library does not say
        raise MalformedValue("the payload is not safetensors") from error
    if len(tensors) > MAX_TENSORS or not all(map(_may_cross, tensors.values())):
        raise MalformedValue("the payload holds too many tensors or one that does not cross")
    return message, tensors


def _may_cross(tensor: torch.Tensor) -> bool:
    return tensor.dtype in CROSSING_DTYPES and tensor.dim() <= MAX_DIMENSIONS
