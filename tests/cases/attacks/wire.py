"""The connection to the examiner: forged, broken and enormous frames on every descriptor."""

from grader.redteam.corpus import Scene, attack

FRAMES = """
import json, os, struct

def frame(number, value):
    reply = {"value": value, "args": [], "kwargs": {}, "devices": []}
    return packed(json.dumps({"id": number, "ok": reply}).encode())

def packed(header, payload=b"", lengths=None):
    return struct.pack("!4sIQ", b"HSF1", *(lengths or (len(header), len(payload)))) + header + payload

def pending():
    import sys
    caller = sys._getframe()
    while caller and not {"number", "connection"} <= caller.f_locals.keys():
        caller = caller.f_back
    return caller.f_locals["number"] if caller else 0

def send(data):
    for descriptor in range(3, 16):
        try:
            os.write(descriptor, data)
        except OSError:
            pass

"""
PAIR = '{"$": "tuple", "v": [1.0, 1.0]}'
BROKEN = "not an answer"


@attack(says="must return a pair|must be a tensor|returned")
def forges_this_answer(scene: Scene) -> str:
    """Writes an answer of its own to the question that is being asked, and no other."""
    return FRAMES + scene.in_the_call("send(frame(pending(), True)); os._exit(0)")


@attack(says="not an answer|weights")
def forges_the_next_answers(scene: Scene) -> str:
    """Writes answers to questions that are yet to come."""
    return FRAMES + scene.once("for n in range(5): send(frame(pending() + n + 1, True))")


@attack(says="not an answer|must return a pair")
def answers_twice(scene: Scene) -> str:
    """Writes an answer of its own, and lets the honest one follow."""
    return FRAMES + scene.once("send(frame(pending(), True)); send(frame(pending(), None))")


@attack(says="without an answer")
def answers_and_dies(scene: Scene) -> str:
    """Writes half an answer and ends."""
    return FRAMES + scene.once("send(frame(pending(), True)[:-5]); os._exit(0)")


@attack(says=BROKEN)
def writes_noise(scene: Scene) -> str:
    """Writes random bytes to every descriptor there is."""
    return FRAMES + scene.once("send(os.urandom(4096))")


@attack(says="not an answer|No answer", seconds=1.0)
def claims_to_be_huge(scene: Scene) -> str:
    """Writes a frame whose lengths promise exabytes."""
    return FRAMES + scene.once("send(packed(b'{}', b'', (2**32 - 1, 2**63 - 1))); os._exit(0)")


@attack(says="No answer|without an answer", seconds=1.0)
def promises_more_than_it_sends(scene: Scene) -> str:
    """Writes a frame that promises as much as a frame may hold, and sends none of it."""
    return FRAMES + scene.once("send(packed(b'{}', b'', (2, 200 * 2**20))); import time; time.sleep(100)")


@attack(says=BROKEN)
def header_nested_deeply(scene: Scene) -> str:
    """Writes a header of a hundred thousand nested lists."""
    return FRAMES + scene.once("send(packed(b'[' * 100_000)); os._exit(0)")


@attack(says=BROKEN)
def header_is_no_text(scene: Scene) -> str:
    """Writes headers that are no UTF-8 and no JSON object."""
    return FRAMES + scene.once("send(packed(b'\\xff\\xfe[NaN, 1e999]')); os._exit(0)")


@attack(says=BROKEN)
def numbers_of_no_end(scene: Scene) -> str:
    """Writes a header with a number of a million digits and a length that is not a number."""
    return FRAMES + scene.once("""
        send(packed(b'{"id": ' + b'9' * 1_000_000 + b', "ok": NaN}'))
        os._exit(0)
    """)


@attack(says=BROKEN)
def payload_is_a_pickle(scene: Scene) -> str:
    """Sends a pickle that would run a program where a table of tensors is expected."""
    return FRAMES + scene.once("""
        import pickle
        class Trap:
            __reduce__ = lambda self: (os.system, ("touch <temporary>/<mark>",))
        header = json.dumps({"id": pending(), "ok": {"$": "tensor", "n": "0"}}).encode()
        send(packed(header, pickle.dumps(Trap())))
        os._exit(0)
    """)


@attack(says=BROKEN)
def payload_lies(scene: Scene) -> str:
    """Sends a table of tensors whose offsets lie outside of what was sent."""
    return FRAMES + scene.once("""
        table = {"0": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}
        table = json.dumps(table).encode()
        header = json.dumps({"id": pending(), "ok": {"$": "tensor", "n": "0"}}).encode()
        send(packed(header, struct.pack("<Q", len(table)) + table + b"1234"))
        os._exit(0)
    """)


@attack(says=BROKEN)
def error_that_is_ours(scene: Scene) -> str:
    """Answers with errors of kinds that only the examiner may use, and with lines beyond all numbers."""
    return FRAMES + scene.once("""
        lines = [{"file": "<root>", "line": 2**70, "function": "f", "text": "t"}] * 1000
        report = {"kind": "infrastructure", "type": "HostFailed", "message": "m", "lines": lines}
        send(packed(json.dumps({"id": pending(), "error": report}).encode()))
        os._exit(0)
    """)


@attack(says="without an answer|not an answer")
def closes_the_connection(scene: Scene) -> str:
    """Closes every descriptor and goes on."""
    return FRAMES + scene.once("os.closerange(0, 1024)")


@attack(says="not an answer|No answer|without an answer|weights", seconds=1.0)
def reads_the_questions(scene: Scene) -> str:
    """Reads from the connection itself, so that the next question is lost."""
    return FRAMES + scene.once("""
        import socket, threading
        if not globals().get("_thief"):
            line = socket.socket(fileno=3)
            globals()["_thief"] = threading.Thread(target=lambda: [line.recv(65536) for _ in range(99)], daemon=True)
            _thief.start()
    """)


@attack(says="weights")
def passes_on_its_descriptors(scene: Scene) -> str:
    """Tries to pass its connection on, and to get at others' through what descriptors point to."""
    return FRAMES + scene.in_the_call("""
        import array, socket
        for name in os.listdir("/proc/self/fd") if os.access("/proc/self/fd", os.R_OK) else []:
            try:
                target = os.readlink(f"/proc/self/fd/{name}")
                if not target.startswith(("/dev/null", "pipe:", "socket:", "/proc")):
                    raise RuntimeError("GOT AWAY WITH IT: " + target)
            except OSError:
                pass
    """)


@attack(says="weights")
def answers_prepared(scene: Scene) -> str:
    """Patches the function that writes frames, to write each one twice with another value."""
    return FRAMES + scene.at_import("""
        import sys
        wire = sys.modules["grader.sandbox.wire"]
        honest = wire.send_frame
        wire.send_frame = lambda connection, header, payload, *rest: honest(
            connection, header.replace(b'"ok":null', b'"ok":true'), payload, *rest
        )
    """)
