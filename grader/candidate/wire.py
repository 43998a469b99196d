"""Frames on a socket: two lengths, a JSON header, a safetensors payload; every size capped.

Never pickle. The reader allocates at most what the lengths promise, and refuses lengths above
the caps before it reads on, so the other end cannot make it hang past its deadline or swell.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

MAX_HEADER = 4 * 1024 * 1024
MAX_PAYLOAD = 256 * 1024 * 1024
_LENGTHS = struct.Struct("!4sIQ")
_MAGIC = b"HSF1"
_CHUNK = 1024 * 1024


class WireError(Exception):
    """The frame cannot be trusted: the connection is of no further use."""


class WireClosed(WireError):
    """The other end is gone."""


class WireTimeout(WireError):
    """The deadline passed before the frame was complete."""


def _remaining(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise WireTimeout("no time left")
    return left


def send_frame(sock: socket.socket, header: bytes, payload: bytes, deadline: float | None = None) -> None:
    """Write one frame. Raises WireClosed, WireTimeout, or WireError when it is over a cap."""
    if len(header) > MAX_HEADER or len(payload) > MAX_PAYLOAD:
        raise WireError("the frame is larger than a frame may be")
    for part in (_LENGTHS.pack(_MAGIC, len(header), len(payload)) + header, payload):
        view = memoryview(part)
        while view:
            try:
                sock.settimeout(_remaining(deadline))
                view = view[sock.send(view[:_CHUNK]) :]
            except TimeoutError as error:
                raise WireTimeout("the other end does not read") from error
            except OSError as error:
                raise WireClosed("the other end is gone") from error


def receive_frame(
    sock: socket.socket,
    deadline: float | None = None,
    wait: Callable[[float | None], None] | None = None,
) -> tuple[bytes, bytes]:
    """Read one frame: header and payload.

    ``wait``, when given, is called with the time left before each read and returns once the
    socket has something to say (or raises); the caller may look after other things meanwhile.
    Raises WireClosed, WireTimeout, or WireError for lengths that no frame has.
    """

    def read(count: int) -> bytearray:
        buffer = bytearray()
        while len(buffer) < count:
            left = _remaining(deadline)
            try:
                if wait is not None:
                    wait(left)
                sock.settimeout(_remaining(deadline))
                part = sock.recv(min(count - len(buffer), _CHUNK))
            except TimeoutError as error:
                raise WireTimeout("no answer in time") from error
            except OSError as error:
                raise WireClosed("the other end is gone") from error
            if not part:
                raise WireClosed("the other end is gone")
            buffer += part
        return buffer

    magic, header_length, payload_length = _LENGTHS.unpack(bytes(read(_LENGTHS.size)))
    if magic != _MAGIC or header_length > MAX_HEADER or payload_length > MAX_PAYLOAD:
        raise WireError("the frame's lengths are not those of a frame")
    return bytes(read(header_length)), bytes(read(payload_length))
