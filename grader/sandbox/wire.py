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
_SMALL = 64 * 1024


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
    # in one piece as far as it goes: each piece wakes the other end, which then waits for the next
    start = _LENGTHS.pack(_MAGIC, len(header), len(payload)) + header
    whole = len(start) + len(payload) <= _CHUNK
    for part in (start + payload,) if whole else (start, payload):
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

    buffer = bytearray()

    def fill(count: int) -> None:
        """Read on until ``count`` bytes are there; what a small frame holds comes in one piece."""
        while len(buffer) < count:
            left = _remaining(deadline)
            try:
                if wait is not None:
                    wait(left)
                sock.settimeout(_remaining(deadline))
                part = sock.recv(max(_SMALL, min(count - len(buffer), _CHUNK)))
            except TimeoutError as error:
                raise WireTimeout("no answer in time") from error
            except OSError as error:
                raise WireClosed("the other end is gone") from error
            if not part:
                raise WireClosed("the other end is gone")
            buffer.extend(part)

    fill(_LENGTHS.size)
    magic, header_length, payload_length = _LENGTHS.unpack(bytes(buffer[: _LENGTHS.size]))
    if magic != _MAGIC or header_length > MAX_HEADER or payload_length > MAX_PAYLOAD:
        raise WireError("the frame's lengths are not those of a frame")
    end = _LENGTHS.size + header_length
    fill(end + payload_length)
    if len(buffer) > end + payload_length:
        raise WireError("there is more than one frame")
    view = memoryview(buffer)
    return bytes(view[_LENGTHS.size : end]), bytes(view[end:])
