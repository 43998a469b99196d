"""While the code is called: never ending, ending badly, staying behind, and cheating by circumstance."""

from grader.redteam.corpus import Code, Scene, attack

WRONG_AS_EVER = "attention weights"
RIGHT_ANSWER = """
def right(self, x, mask):
    scores = self.W_Q(x) @ self.W_K(x).transpose(-2, -1) / self.d_k**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ self.W_V(x), weights

"""


@attack(says="stopped with SkipTest")
def a15_skips_the_test(scene: Scene) -> str:
    """Raises what unittest takes for a skipped test."""
    return scene.in_the_call("import unittest; raise unittest.SkipTest('not today')")


@attack(says="stopped with XFailed")
def a15_expected_to_fail(scene: Scene) -> str:
    """Tells pytest that this failure was expected."""
    return scene.in_the_call("import pytest; pytest.xfail('as expected')")


@attack(says="stopped with NotRun")
def raises_the_graders_own(scene: Scene) -> str:
    """Raises an exception that is called as the grader's own sign for a test that cannot be run."""
    return scene.in_the_call("""
        NotRun = type("NotRun", (BaseException,), {"__module__": "grader.examination.verdicts"})
        raise NotRun("this machine has no accelerator")
    """)


@attack(says="stopped with HostFailed")
def claims_to_be_unusable(scene: Scene) -> str:
    """Raises the worker's own exceptions, found through the modules it has loaded."""
    return scene.in_the_call("""
        import sys
        raise sys.modules["grader.candidate.faults"].HostFailed("the wall fell over, by itself")
    """)


@attack(says="No answer within 1 s", seconds=1.0)
def a30_swallows_everything(scene: Scene) -> str:
    """Loops for ever and swallows whatever is raised to stop it."""
    return scene.in_the_call("""
        while True:
            try:
                while True:
                    pass
            except BaseException:
                continue
    """)


@attack(says="No answer within 1 s", seconds=1.0)
def sleeps_for_ever(scene: Scene) -> str:
    """Sleeps, with every signal blocked."""
    return scene.in_the_call("""
        import signal, time
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(10_000)
    """)


@attack(says="No answer within 1 s", seconds=1.0)
def hangs_in_native_code(scene: Scene) -> str:
    """Stays in one call of native code that no exception can end."""
    return scene.in_the_call("sum(range(10**13))")


@attack(says="No answer within 1 s", seconds=1.0)
def stops_itself(scene: Scene) -> str:
    """Stops its own process, which then neither ends nor answers."""
    return scene.in_the_call("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")


@attack(says="No answer within 1 s", seconds=1.0)
def waits_for_input(scene: Scene) -> str:
    """Deadlocks on a lock that it holds itself."""
    return scene.in_the_call("import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()")


@attack(says="segmentation fault")
def a32_crashes_by_recursion(scene: Scene) -> str:
    """Recurses through native code with the limit of recursion out of the way."""
    return scene.once("""
        import sys
        sys.setrecursionlimit(10**9)
        def deeper(n):
            return [*map(deeper, [n + 1])]
        deeper(0)
    """)


@attack(says="RecursionError")
def recurses(scene: Scene) -> str:
    """Calls itself without end."""
    return scene.once("deeper = lambda n: deeper(n + 1); deeper(0)")


@attack(says="segmentation fault")
def crashes(scene: Scene) -> str:
    """Reads memory that is not there."""
    return scene.once("import ctypes; ctypes.string_at(0)")


@attack(says="crashed|aborted|stopped without an answer|ended by signal")
def damages_its_memory(scene: Scene) -> str:
    """Writes over the interpreter's own objects."""
    return scene.once("""
        import ctypes
        ctypes.memset(id(type(x)), 0x41, 256)
        ctypes.memset(id(None), 0x41, 16)
        type(x).mro()
    """)


@attack(says=WRONG_AS_EVER)
def a34_prints_a_summary(scene: Scene) -> str:
    """Prints what pytest prints when all tests have passed, and JSON with full points."""
    return scene.in_the_call("""
        print("===== 58 passed in 0.50s =====")
        print('{"score": 25.0, "max_score": 25.0, "status": "graded"}', flush=True)
    """)


@attack(says=WRONG_AS_EVER)
def a35_right_for_visible_tests(scene: Scene) -> str:
    """Answers well only where pytest, the environment or the arguments name a visible test."""
    return RIGHT_ANSWER + scene.in_the_call("""
        import os, sys
        signs = [os.environ.get("PYTEST_CURRENT_TEST", ""), *sys.argv, *os.environ.values()]
        if any("public" in sign or "visible" in sign for sign in signs):
            return right(self, x, mask)
    """)


@attack(says="stopped with LookupError")
def detects_the_examiner(scene: Scene) -> str:
    """Looks for signs of who is asking: in the environment, the arguments, the modules, the parent."""
    return scene.reaching(
        "signs()",
        """
        import os, sys

        def signs():
            telling = [*os.environ, *os.environ.values(), *sys.argv, *sys.path]
            for sign in telling:
                if any(word in sign.lower() for word in ("pytest", "hidden", "exercise", "test_")):
                    return sign
            if any(name.startswith(("pytest", "_pytest")) for name in sys.modules):
                return "pytest is loaded"
            raise LookupError("nothing here tells who asks")
        """,
    )


@attack(says="different|same|remember|again|weights")
def right_for_the_first_call(scene: Scene) -> str:
    """Answers well the first time it is called and wrongly ever after."""
    return RIGHT_ANSWER + scene.in_the_call("""
        calls = globals().setdefault("_calls", [])
        calls.append(1)
        if len(calls) == 1:
            return right(self, x, mask)
    """)


@attack(says=WRONG_AS_EVER)
def right_for_public_sizes(scene: Scene) -> str:
    """Answers well only for a batch of a size that no test has."""
    return RIGHT_ANSWER + scene.in_the_call("""
        if x.shape[0] == 64:
            return right(self, x, mask)
    """)


@attack(says="weights|scaled|mask")
def remembers_through_files(scene: Scene) -> str:
    """Keeps inputs and answers in files and shared memory, for whoever is graded after it."""
    return scene.in_the_call("""
        import os, pickle
        for folder in (os.getcwd(), os.environ["HOME"], os.path.dirname(__file__)):
            try:
                with open(os.path.join(folder, "kept"), "ab") as file:
                    pickle.dump(x.tolist(), file)
            except OSError:
                pass
    """)


@attack(says=WRONG_AS_EVER)
def threads_stay_behind(scene: Scene) -> str:
    """Starts threads that outlive the call and scribble over every tensor they can find."""
    return scene.in_the_call("""
        import gc, threading, time, torch
        def scribble():
            for _ in range(20):
                time.sleep(0.005)
                for thing in gc.get_objects()[:2000]:
                    if type(thing) is torch.Tensor:
                        thing.detach().fill_(1.0)
        if not globals().get("_scribbling"):
            globals()["_scribbling"] = threading.Thread(target=scribble, daemon=True)
            globals()["_scribbling"].start()
    """)


@attack(says="(?s)weights|closed to it", opens="start_program")
def daemons_stay_behind(scene: Scene) -> str:
    """Forks twice into a session of its own and lets that process go on."""
    return scene.in_the_call("""
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
    """)


@attack(says="weights|closed to it|not an answer|answer")
def twins_answer(scene: Scene) -> str:
    """Forks in the middle of a call, so that two processes answer the same question."""
    return scene.in_the_call("import os; os.fork()")


@attack(says=WRONG_AS_EVER)
def hooks_on_the_way(scene: Scene) -> str:
    """Registers hooks on its module that change what goes in and what comes out, without effect on its worth."""
    return scene.after("""
        _init = SelfAttention.__init__
        def __init__(self, *args, **kwargs):
            _init(self, *args, **kwargs)
            self.register_forward_hook(lambda module, args, out: (out[0] * 1.0, out[1] * 1.0))
            self.register_full_backward_hook(lambda module, *grads: None)
        SelfAttention.__init__ = __init__
    """)


@attack(says="raise|message|stopped with")
def a46_exception_that_cannot_be_read(scene: Scene) -> str:
    """Raises an exception whose text raises another, and whose class claims another name."""
    return scene.in_the_call("""
        class Liar(type):
            __name__ = property(lambda self: 1 / 0)
        class Unreadable(Exception, metaclass=Liar):
            def __str__(self):
                raise SystemExit(0)
            __repr__ = __str__
            __class__ = property(lambda self: 1 / 0)
        raise Unreadable
    """)


@attack(says="No answer within 1 s", seconds=1.0)
def exception_that_hangs(scene: Scene) -> str:
    """Raises an exception whose text takes for ever to write."""
    return scene.in_the_call("""
        class Endless(Exception):
            def __str__(self):
                while True:
                    pass
        raise Endless
    """)


@attack(says="ExceptionGroup|stopped with")
def exception_group(scene: Scene) -> str:
    """Raises thousands of exceptions as one, each the cause of another."""
    return scene.once("""
        errors = [ValueError("x" * 1000) for _ in range(3000)]
        for one, other in zip(errors, errors[1:]):
            one.__cause__ = other
        errors[-1].__cause__ = errors[0]
        raise BaseExceptionGroup("many", errors)
    """)


@attack(says="EOFError", behind=Code.RIGHT)
def asks_for_input(scene: Scene) -> str:
    """Calls input(), as code under construction does."""
    return scene.in_the_call("input('d_k? ')")


@attack(says="BdbQuit|breakpoint|stopped", behind=Code.RIGHT)
def leaves_a_breakpoint(scene: Scene) -> str:
    """Calls breakpoint(), as code under construction does."""
    return scene.in_the_call("breakpoint()")
