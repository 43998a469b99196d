"""Whatever bytes come from a worker, the examiner gets an answer or one of the candidate's own errors."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.candidate.faults import CandidateError, Died, HostFailed, Nonsense, OutOfTime, StudentError
from grader.candidate.values import MAX_BITS, MAX_TENSORS, MalformedValue, Opaque, decode, encode
from grader.sandbox import wire
from grader.sandbox.frames import MAX_TABLE, from_bytes, to_bytes
from grader.sandbox.isolated import Deadlines, IsolatedTransport
from grader.sandbox.levels import Level
from grader.sandbox.limits import WorkerLimits
from grader.sandbox.stage import Stage

Script = Callable[[int], bytes]
MIB = 1024 * 1024
SECONDS = 0.5
FRAME = struct.Struct("!4sIQ")


class Puppet:
    """A worker that answers ``open`` as it should, and the next request with the bytes of a script."""

    breach = ""

    def __init__(self, script: Script, code: int | None, stays: bool) -> None:
        self.connection, self._theirs = socket.socketpair()
        self.output, self._their_output = os.pipe()
        self._code = code
        self._thread = threading.Thread(target=self._play, args=(script, stays), daemon=True)
        self._thread.start()

    def _play(self, script: Script, stays: bool) -> None:
        try:
            number = self._request()
            opened = encode({"name": "simulated", "simulated": True})[0]
            wire.send_frame(self._theirs, *to_bytes({"id": number, "ok": opened}, {}))
            self._theirs.sendall(script(self._request()))
            if not stays:
                self._theirs.shutdown(socket.SHUT_WR)
        except (wire.WireError, OSError):
            pass

    def _request(self) -> int:
        return int(json.loads(wire.receive_frame(self._theirs)[0])["id"])

    def kill(self) -> None:
        self.connection.close()
        self._thread.join(5)
        self._theirs.close()
        for descriptor in (self.output, self._their_output):
            os.close(descriptor)

    def exit_code(self, wait_seconds: float) -> int | None:
        return self._code


class Puppets:
    """A launcher of puppets."""

    level = Level.PROCESS
    stages = None

    def __init__(self, script: Script, code: int | None = 0, stays: bool = False) -> None:
        self._cast = (script, code, stays)

    def start(self, limits: WorkerLimits, stage: Stage) -> Puppet:
        return Puppet(*self._cast)

    def close(self) -> None:
        """Each puppet is ended by its transport."""


def asked(script: Script, code: int | None = 0, stays: bool = False, seconds: float = SECONDS) -> Any:
    """What a request comes to when the worker answers with those bytes, within its deadline."""
    transport = IsolatedTransport(Puppets(script, code, stays), {}, {}, {}, Deadlines(seconds))
    started = time.monotonic()
    try:
        return transport.request("call", {"x": torch.ones(2)})
    finally:
        assert time.monotonic() - started < seconds + 1
        transport.close()


def frame(header: object, payload: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return FRAME.pack(b"HSF1", len(text), len(payload)) + text + payload


def answer(number: int, value: object, payload: bytes = b"") -> bytes:
    return frame({"id": number, "ok": value}, payload)


def error(number: int, kind: str, *, type: str = "", message: str = "", lines: object = ()) -> bytes:
    return frame({"id": number, "error": {"kind": kind, "type": type, "message": message, "lines": lines}})


def table(entries: object, data: bytes = b"") -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


many = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["$", "v", "n", "strides"]), inner, max_size=4
        )
        | st.fixed_dictionaries(
            {"$": st.sampled_from(["tensor", "tuple", "dict", "opaque", "set"]), "v": inner}
        )
    ),
    max_leaves=12,
)
tensors = st.tuples(
    st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.bool]),
    st.lists(st.integers(0, 3), max_size=3),
).map(lambda kind: torch.ones(kind[1]).to(kind[0]))
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**MAX_BITS) + 1, 2**MAX_BITS - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.builds(Opaque, st.text(max_size=20))
    | tensors,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(-9, 9), inner, max_size=4)
    ),
    max_leaves=12,
)


# an answer that is one


def test_a_right_answer_arrives() -> None:
    assert asked(lambda number: answer(number, {"$": "tuple", "v": [1, "two"]})) == (1, "two")


@given(plain_values)
@many
def test_what_is_written_is_what_is_read(value: Any) -> None:
    tree, sent = encode(value)
    message, received = from_bytes(*to_bytes({"ok": tree}, sent))
    assert repr(decode(message["ok"], received)) == repr(value)


@given(st.tuples(st.text(max_size=300), st.text(max_size=3000)))
@many
def test_a_students_error_arrives_in_words_that_can_be_written_down(words: tuple[str, str]) -> None:
    with pytest.raises(StudentError) as caught:
        asked(lambda number: error(number, "raised", type=words[0], message=words[1] + "\ud800"))
    assert str(caught.value).encode()
    assert len(str(caught.value)) <= 2202


# answers that are none


@given(st.binary(max_size=200))
@many
def test_random_bytes_are_the_candidates_error(data: bytes) -> None:
    with pytest.raises((Died, Nonsense)):
        asked(lambda _: data)


@given(header=st.binary(max_size=100), payload=st.binary(max_size=200))
@many
def test_random_bytes_in_a_frame_are_the_candidates_error(header: bytes, payload: bytes) -> None:
    with pytest.raises((Died, Nonsense)):
        asked(lambda _: frame(header, payload))


@given(tree=json_values, payload=st.binary(max_size=50))
@many
def test_random_json_is_a_value_or_the_candidates_error(tree: Any, payload: bytes) -> None:
    try:
        value = asked(lambda number: answer(number, tree, payload))
    except (Nonsense, StudentError):
        return
    assert encode(value)
    assert repr(value).encode()


@given(report=json_values)
@many
def test_a_random_error_is_the_candidates_error(report: Any) -> None:
    with pytest.raises(CandidateError):
        asked(lambda number: frame({"id": number, "error": report}))


@given(kept=st.integers(0, 120))
@settings(max_examples=40, deadline=None)
def test_an_answer_cut_short_is_a_worker_that_ended(kept: int) -> None:
    payload = safetensors.torch.save({"0": torch.ones(4)})
    with pytest.raises(Died):
        asked(lambda number: answer(number, {"$": "tensor", "n": "0"}, payload)[:kept])


DEEP = b'{"id":%d,"ok":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
WRONG: dict[str, Script] = {
    "another request": lambda number: answer(number + 1, None),
    "an earlier request": lambda number: answer(number - 1, None),
    "a true request": lambda number: frame({"id": True, "ok": None}),
    "a fractional request": lambda number: frame({"id": float(number), "ok": None}),
    "no request": lambda number: frame({"ok": None}),
    "no value": lambda number: frame({"id": number}),
    "no object": lambda number: frame([number]),
    "no header": lambda number: frame(b""),
    "another magic": lambda number: b"HSF2" + answer(number, None)[4:],
    "a long header": lambda number: FRAME.pack(b"HSF1", wire.MAX_HEADER + 1, 0),
    "a long payload": lambda number: FRAME.pack(b"HSF1", 2, wire.MAX_PAYLOAD + 1),
    "the longest lengths": lambda number: FRAME.pack(b"HSF1", 2**32 - 1, 2**64 - 1),
    "deep json": lambda number: frame(DEEP % number),
    "a deep value": lambda number: answer(number, eval("[" * 20 + "1" + "]" * 20)),
    "many digits": lambda number: frame(b'{"id":%d,"ok":%s}' % (number, b"9" * 5000)),
    "65 bits": lambda number: answer(number, 2**MAX_BITS),
    "a key of 65 bits": lambda number: answer(number, {"$": "dict", "v": [[2**MAX_BITS, 1]]}),
    "a key that is a list": lambda number: answer(number, {"$": "dict", "v": [[[], 1]]}),
    "a long text": lambda number: answer(number, "x" * 100_000),
    "many values": lambda number: answer(number, [0] * 30_000),
    "a tuple of no list": lambda number: answer(number, {"$": "tuple", "v": 1}),
    "an unknown mark": lambda number: answer(number, {"$": "set", "v": []}),
    "a mark that is a number": lambda number: answer(number, {"$": 1}),
    "a tensor not sent": lambda number: answer(number, {"$": "tensor", "n": "0"}),
    "a tensor by number": lambda number: answer(number, {"$": "tensor", "n": 0}),
    "utf-16": lambda number: frame(json.dumps({"id": number}).encode("utf-16")),
    "an examiner's error": lambda number: error(number, "late"),
    "a line of many digits": lambda number: error(
        number, "raised", lines=[{"file": "", "line": 10**400, "function": "", "text": ""}]
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_answer_that_is_wrong_in_one_way_is_nonsense(what: str) -> None:
    with pytest.raises(Nonsense, match="was not an answer"):
        asked(WRONG[what])


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"0": {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}}


PAYLOADS = {
    "overflow": table(entry("F32", [2**32, 2**32], 0, 0)),
    "overflow of a zero size": table(entry("F32", [2**63, 0], 0, 0)),
    "more than was sent": table(entry("F32", [1000], 0, 4000), b"1234"),
    "less than was sent": table(entry("F32", [1], 0, 4), b"12345678"),
    "a shape that lies": table(entry("F32", [3], 0, 4), b"1234"),
    "a negative shape": table(entry("F32", [-1], 0, 4), b"1234"),
    "complex": table(entry("C64", [1], 0, 8), b"12345678"),
    "an eight-bit float": table(entry("F8_E4M3", [1], 0, 1), b"1"),
    "an unknown type": table(entry("F128", [1], 0, 16), b"1" * 16),
    "no table": (2**63).to_bytes(8, "little"),
    "a table beyond the payload": (1000).to_bytes(8, "little") + b"{}",
    "too short": b"123",
    "too many": table({f"{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(300)}),
    "many dimensions": table(entry("U8", [1] * 1000, 0, 1), b"1"),
    "a list": table([]),
    "deep": (2000).to_bytes(8, "little") + b"[" * 2000,
}


@pytest.mark.parametrize("what", PAYLOADS)
def test_a_payload_that_lies_is_refused_or_harmless(what: str) -> None:
    try:
        value = asked(lambda number: answer(number, {"$": "tensor", "n": "0"}, PAYLOADS[what]))
    except Nonsense:
        return
    assert value.numel() <= len(PAYLOADS[what])
    assert repr(value)


@given(data=st.data())
@many
def test_a_payload_with_a_byte_changed_is_a_value_or_nonsense(data: st.DataObject) -> None:
    payload = bytearray(safetensors.torch.save({"0": torch.ones(2, 3), "1": torch.zeros(1)}))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        value = asked(lambda number: answer(number, {"$": "tensor", "n": "0"}, bytes(payload)))
    except Nonsense:
        return
    assert value.numel() <= len(payload)


# sizes and time


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("lengths", [(wire.MAX_HEADER, wire.MAX_PAYLOAD), (2, wire.MAX_PAYLOAD)])
def test_lengths_that_promise_much_allocate_nothing(
    peak: Callable[[], int], lengths: tuple[int, int]
) -> None:
    with pytest.raises(Died):
        asked(lambda _: FRAME.pack(b"HSF1", *lengths) + b"{}")
    assert peak() < 8 * MIB


def test_a_table_of_many_tensors_is_refused_unread(peak: Callable[[], int]) -> None:
    entries = {str(i): {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(20_000)}
    payload = table(entries)
    assert len(payload) > MAX_TABLE
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    with pytest.raises(MalformedValue):
        from_bytes(b"{}", payload)
    assert peak() - before < MIB


@pytest.mark.parametrize(("count", "crosses"), [(MAX_TENSORS, True), (MAX_TENSORS + 1, False)])
def test_so_many_tensors_cross_and_no_more(count: int, crosses: bool) -> None:
    sent = to_bytes({}, {str(i): torch.ones(1, 1, 1, 1) for i in range(count)})
    with contextlib.nullcontext() if crosses else pytest.raises(MalformedValue):
        assert len(from_bytes(*sent)[1]) == count


SLOW: dict[str, Script] = {
    "nothing": lambda _: b"",
    "half a head": lambda _: b"HSF1",
    "half a header": lambda _: FRAME.pack(b"HSF1", 100, 0) + b"{",
    "half a payload": lambda number: answer(number, None, b"x" * 2000)[:-1000],
}


@pytest.mark.parametrize("what", SLOW)
def test_an_answer_that_does_not_come_to_an_end_is_late(what: str) -> None:
    with pytest.raises(OutOfTime):
        asked(SLOW[what], stays=True, seconds=0.2)


def test_output_without_end_does_not_keep_the_deadline_from_passing() -> None:
    class Fountains(Puppets):
        def start(self, limits: WorkerLimits, stage: Stage) -> Puppet:
            puppet = super().start(limits, stage)
            os.close(puppet.output)
            puppet.output = os.open("/dev/zero", os.O_RDONLY)
            return puppet

    transport = IsolatedTransport(Fountains(lambda _: b"", stays=True), {}, {}, {}, Deadlines(0.2))
    started = time.monotonic()
    with pytest.raises(OutOfTime):
        transport.request("call", {})
    assert time.monotonic() - started < 1.2
    transport.close()


def test_an_answer_that_drips_is_late() -> None:
    left, right = socket.socketpair()

    def drip() -> None:
        with contextlib.suppress(OSError):
            for byte in FRAME.pack(b"HSF1", 4000, 0) + b" " * 4000:
                right.send(bytes([byte]))
                time.sleep(0.01)

    threading.Thread(target=drip, daemon=True).start()
    started = time.monotonic()
    with left, pytest.raises(wire.WireTimeout):
        wire.receive_frame(left, started + 0.3)
    assert time.monotonic() - started < 1.3


# how a worker ended


@pytest.mark.parametrize("code", [None, 0, 3, 255, *(-number for number in range(1, 65))])
def test_every_way_to_end_is_told_in_words(code: int | None) -> None:
    with pytest.raises(Died, match="stopped without an answer: it"):
        asked(lambda _: b"", code)


def test_a_worker_that_does_not_open_is_our_fault() -> None:
    class Deserters(Puppets):
        def start(self, limits: WorkerLimits, stage: Stage) -> Puppet:
            puppet = super().start(limits, stage)
            puppet._theirs.shutdown(socket.SHUT_RDWR)
            return puppet

    transport = IsolatedTransport(Deserters(lambda _: b""), {}, {}, {})
    with pytest.raises(HostFailed, match="did not get ready"):
        transport.request("call", {})
    transport.close()
