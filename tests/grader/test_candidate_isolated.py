"""What only the wall gives: deadlines, replacement, and nothing in or out but answers."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
import torch

from grader.candidate.faults import (
    CandidateError,
    Died,
    Exhausted,
    HostFailed,
    Nonsense,
    NotUsable,
    OutOfTime,
    StudentError,
)
from grader.candidate.interface import PATIENCE, Candidate
from grader.sandbox import capacity
from grader.sandbox.capacity import memory_kills
from grader.sandbox.isolated import Deadlines, IsolatedTransport, isolated_candidate
from grader.sandbox.launch import ROOT, ColdStarter, Launcher, WarmHost
from grader.sandbox.levels import warm_start_possible
from grader.sandbox.limits import WorkerLimits

pytestmark = pytest.mark.skipif(not warm_start_possible(), reason="the warm host is for Linux")

MIB = 1024 * 1024
SOURCE = (Path(__file__).parent / "candidates" / "trouble.py").read_bytes()
NAMES = [name.decode() for name in re.findall(rb"^(?:def|class) (\w+)", SOURCE, re.MULTILINE)]
SECRET = "HEADSTART_TEST_SECRET"

Sit = Callable[..., tuple[Candidate, IsolatedTransport]]


@pytest.fixture(scope="module")
def host() -> Iterator[WarmHost]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET, "expected answers")
        host = WarmHost()
    yield host
    host.close()


@pytest.fixture(scope="module")
def cold() -> Iterator[ColdStarter]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET, "expected answers")
        yield ColdStarter()


@pytest.fixture
def sit(host: WarmHost) -> Iterator[Sit]:
    """Makes candidates of trouble.py, warm unless told otherwise, and closes them."""
    made: list[Candidate] = []

    def make(
        launcher: Launcher | None = None, seconds: float = 10, **settings: Any
    ) -> tuple[Candidate, IsolatedTransport]:
        settings.setdefault("deadlines", Deadlines(call_seconds=seconds))
        homes = dict.fromkeys(NAMES, "trouble.py")
        candidate, transport = isolated_candidate(launcher or host, {"trouble.py": SOURCE}, homes, **settings)
        made.append(candidate)
        return candidate, transport

    yield make
    for candidate in made:
        candidate.close()


def ask(candidate: Candidate, name: str, *args: Any) -> Any:
    return candidate.apply(name, *args).value


def gone(pid: int, seconds: float = 3.0) -> bool:
    """Whether the process has ended, or does so before long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.02)
                continue
        return True
    return False


def test_a_worker_ended_for_want_of_memory_is_not_the_students_fault(
    sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate, _ = sit()
    candidate.load("kill_self")
    monkeypatch.setattr(capacity, "memory_kills", lambda: memory_kills() + 1)  # as if just now
    with pytest.raises(HostFailed, match="ran out of memory"):
        candidate.apply("kill_self")


# time


@pytest.mark.parametrize("name", ["hang", "stubborn", "chatter", "hang_in_c", "deaf"])
def test_a_call_is_stopped_at_its_deadline(sit: Sit, name: str) -> None:
    candidate, _ = sit(seconds=0.4)
    candidate.load(name)
    started = time.monotonic()
    with pytest.raises(OutOfTime, match=r"No answer within 0\.4 s"):
        candidate.apply(name)
    assert time.monotonic() - started < 1.4
    assert ask(candidate, "truth") == "the truth"


def test_calls_together_have_the_time_of_so_many(sit: Sit) -> None:
    candidate, _ = sit(seconds=0.4)
    model = candidate.build("Slow")
    assert candidate.batch_call([(model, (0.25,), {})] * 3) == [0.25] * 3
    with pytest.raises(OutOfTime, match=r"No answer within 0\.8 s"):
        candidate.batch_call([(model, (0.6,), {})] * 2)


def test_a_submission_has_a_deadline_for_all_its_calls(sit: Sit) -> None:
    candidate, _ = sit(deadlines=Deadlines(call_seconds=0.5, submission_seconds=0.6))
    started = time.monotonic()
    with pytest.raises(OutOfTime):
        candidate.apply("hang")
    with pytest.raises((OutOfTime, Exhausted)):  # gets what is left, if anything is
        candidate.apply("hang")
    with pytest.raises(Exhausted, match=r"the 0\.6 s for"):
        candidate.apply("truth")
    assert time.monotonic() - started < 1.6


def test_a_file_that_hangs_again_and_again_is_not_waited_for(sit: Sit) -> None:
    candidate, _ = sit(seconds=0.2)
    for _ in PATIENCE:
        with pytest.raises(OutOfTime, match="No answer"):
            candidate.apply("hang")
    started = time.monotonic()
    with pytest.raises(OutOfTime, match="Not tried"):
        candidate.apply("hang")
    assert time.monotonic() - started < 0.1


def test_processor_time_is_limited(sit: Sit) -> None:
    candidate, _ = sit(limits=WorkerLimits(cpu_seconds=1))
    with pytest.raises(Died):
        candidate.apply("hang")


# ends


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leave", r"exit code 0.*os\._exit"),
        ("segfault", "segmentation fault"),
        ("kill_self", "killed"),
        ("kill_self_oddly", "signal 40"),
        ("overflow_stack", "segmentation fault"),
        ("abort", "aborted"),
        ("close_everything", "stopped without an answer"),
    ],
)
def test_a_worker_that_ends_costs_one_call_only(sit: Sit, name: str, words: str) -> None:
    candidate, transport = sit()
    with pytest.raises(Died, match=words):
        candidate.apply(name)
    assert transport.generation == 1
    assert ask(candidate, "truth") == "the truth"


def test_models_of_a_replaced_worker_say_that_they_are_gone(sit: Sit) -> None:
    candidate, _ = sit()
    model = candidate.build("Model")
    with pytest.raises(Died):
        candidate.apply("leave")
    with pytest.raises(NotUsable, match="the object is gone"):
        model(torch.ones(2))
    assert torch.equal(candidate.build("Model")(torch.ones(2)), torch.ones(2))


def test_a_cold_worker_is_replaced_too_and_takes_its_children_along(sit: Sit, cold: ColdStarter) -> None:
    candidate, _ = sit(cold)
    (child,) = ask(candidate, "leave_behind", "child")
    with pytest.raises(Died, match="segmentation fault"):
        candidate.apply("segfault")
    assert gone(child)
    assert ask(candidate, "truth") == "the truth"


def test_deep_recursion_is_the_students_own_error(sit: Sit) -> None:
    candidate, transport = sit()
    with pytest.raises(StudentError, match="RecursionError"):
        candidate.apply("recurse")
    assert transport.generation == 0


# output


def test_a_flood_of_output_does_not_keep_the_answer_back(sit: Sit) -> None:
    candidate, transport = sit(keep_output=1000)
    assert ask(candidate, "flood", 30 * MIB) == "the truth"
    candidate.close()
    assert transport.output.flooded
    assert len(transport.output.kept) == 1000
    assert transport.output.count >= 30 * MIB


def test_what_was_printed_is_kept_from_both_streams(sit: Sit) -> None:
    candidate, transport = sit()
    candidate.apply("speak")
    candidate.close()
    assert set(transport.output.kept.decode().split()) == {"aloud", "aside", "raw"}
    assert not transport.output.flooded


def test_output_that_never_ends_does_not_keep_the_wall_from_closing(sit: Sit) -> None:
    candidate, _ = sit()
    candidate.apply("leave_printing")
    started = time.monotonic()
    candidate.close()
    assert time.monotonic() - started < 2


def test_garbage_on_standard_output_is_no_answer(sit: Sit) -> None:
    candidate, transport = sit()
    assert ask(candidate, "garbage", 1) == "the truth"
    assert transport.generation == 0


# answers


def test_garbage_on_the_connection_costs_one_call_only(sit: Sit) -> None:
    candidate, _ = sit()
    with pytest.raises(Nonsense):
        candidate.apply("garbage", 3)
    assert ask(candidate, "truth") == "the truth"


def test_an_oversized_answer_costs_its_own_call_and_not_the_worker(sit: Sit) -> None:
    candidate, transport = sit()
    with pytest.raises(NotUsable, match="larger than a frame may be"):
        candidate.apply("oversize")
    assert transport.generation == 0
    assert ask(candidate, "truth") == "the truth"


@pytest.mark.parametrize("name", ["forge_ahead", "forge_behind", "forge_this", "twin"])
def test_no_forged_frame_becomes_the_answer_of_another_call(sit: Sit, name: str) -> None:
    # the worker may lie about the call it was asked, as any code may; never about one to come
    candidate, _ = sit()
    candidate.load("truth")
    with contextlib.suppress(CandidateError):
        candidate.apply(name)
    time.sleep(0.3)  # for what is written behind the answer
    answers = []
    for _ in range(3):
        try:
            answers.append(ask(candidate, "truth"))
        except Nonsense:
            answers.append("nonsense")
    assert set(answers) <= {"the truth", "nonsense"}
    assert answers[1:] == ["the truth"] * 2


# what a worker has and what it may use


@pytest.mark.parametrize("start", ["warm", "cold"])
def test_the_environment_holds_nothing_of_the_graders(
    sit: Sit, host: WarmHost, cold: ColdStarter, start: str
) -> None:
    candidate, _ = sit(host if start == "warm" else cold)
    names, everything, descriptors, session, ppid = ask(candidate, "surroundings")
    assert set(names) <= {"HOME", "TMPDIR", "USER", "MPLBACKEND"}
    assert SECRET not in everything
    assert descriptors == [0, 1, 2, 3]
    assert session == [True, True]
    assert ppid == (host.pid if start == "warm" else os.getpid())


def test_the_graders_own_packages_cannot_be_imported_from_its_folder(sit: Sit) -> None:
    candidate, _ = sit()
    assert str(ROOT) not in ask(candidate, "import_path")


@pytest.mark.parametrize(
    ("how", "error"), [("bytes", "MemoryError"), ("tensor", "RuntimeError"), ("file", "OSError")]
)
def test_using_too_much_is_the_students_own_error(sit: Sit, how: str, error: str) -> None:
    candidate, transport = sit(limits=WorkerLimits(memory_bytes=256 * MIB, file_bytes=MIB))
    with pytest.raises(StudentError) as caught:
        candidate.apply("hoard", how)
    assert caught.value.kind == error
    assert transport.generation == 0


@pytest.mark.parametrize("ending", ["close", "exit", "deadline"])
@pytest.mark.parametrize("how", ["child", "session", "daemon", "grandchildren"])
def test_processes_left_behind_end_with_their_worker(sit: Sit, how: str, ending: str) -> None:
    candidate, transport = sit(seconds=1.0)
    pids = ask(candidate, "leave_behind", how)
    assert pids
    assert all(psutil.pid_exists(pid) for pid in pids)
    if ending == "close":
        candidate.close()
    else:
        transport._deadlines = Deadlines(call_seconds=0.2)
        with pytest.raises(CandidateError):
            candidate.apply("leave" if ending == "exit" else "hang")
    assert all(gone(pid) for pid in pids)


def test_nothing_of_a_submission_stays_on_disk(sit: Sit) -> None:
    candidate, _ = sit()
    scratch = Path(ask(candidate, "litter"))
    assert scratch.is_dir()
    candidate.close()
    time.sleep(0.1)
    assert not scratch.parent.exists()


def test_two_workers_at_once_do_not_meet(sit: Sit) -> None:
    (one, _), (other, _) = sit(), sit()
    assert ask(one, "remember", "mine") == ["mine"]
    assert ask(other, "remember", "yours") == ["yours"]
    with pytest.raises(Died):
        one.apply("kill_self")
    assert ask(other, "remember", "more") == ["yours", "more"]
    assert ask(one, "remember", "again") == ["again"]


def test_a_fork_of_the_examiner_may_use_the_host(sit: Sit) -> None:
    candidate, _ = sit()
    readable, writable = os.pipe()
    if (pid := os.fork()) == 0:
        with contextlib.suppress(BaseException):
            os.write(writable, ask(candidate, "truth").encode())
            candidate.close()
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as stream:
        assert stream.read() == b"the truth"
    os.waitpid(pid, 0)


# the host


def test_the_host_stays_as_small_as_it_was(host: WarmHost, sit: Sit) -> None:
    ask(sit()[0], "truth")
    process = psutil.Process(host.pid)
    memory, descriptors = process.memory_info().rss, process.num_fds()
    for _ in range(200):
        candidate, _ = sit()
        candidate.begin(1)
        candidate.close()
    assert process.memory_info().rss - memory < 20 * MIB
    assert process.num_fds() <= descriptors
    assert len(process.children()) <= 1


def test_a_lost_host_is_our_fault_and_never_the_students(sit: Sit) -> None:
    with WarmHost() as own:
        candidate, _ = sit(own)
        assert ask(candidate, "truth") == "the truth"
        threading.Timer(0.2, os.kill, (own.pid, signal.SIGKILL)).start()
        with pytest.raises(HostFailed):
            candidate.apply("hang")
        with pytest.raises(HostFailed):
            candidate.apply("truth")


def test_everything_ends_when_the_examiner_is_killed() -> None:
    script = f"""
        import sys, time
        sys.path.insert(0, {str(ROOT)!r})
        from grader.sandbox.isolated import isolated_candidate
        from grader.sandbox.launch import ColdStarter, WarmHost
        host, made = WarmHost(), []
        source = b"import os\\ndef pid():\\n    return os.getpid()\\n"
        for start in (host, ColdStarter()):
            made.append(isolated_candidate(start, {{"a.py": source}}, {{"pid": "a.py"}})[0])
        print(host.pid, *(candidate.apply("pid").value for candidate in made), flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    process.kill()
    process.communicate()
    assert len(pids) == 3
    assert all(gone(pid) for pid in pids)
