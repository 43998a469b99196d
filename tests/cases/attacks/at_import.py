"""While the file is imported: ending the process, and tampering with everything that can be reached."""

from grader.redteam.corpus import Code, Scene, attack

WRONG_AS_EVER = "attention weights"  # the attack has no effect, and the honest code is judged


@attack(says="stopped with SystemExit")
def a01_exit(scene: Scene) -> str:
    """Ends the process with status 0 while it is imported."""
    return scene.at_import("import sys; sys.exit(0)")


@attack(says=r"ended the process itself \(exit code 0\)")
def exit_hard(scene: Scene) -> str:
    """Ends the process with status 0, past all that Python would still do."""
    return scene.at_import("import os; os._exit(0)")


@attack(says=WRONG_AS_EVER)
def a04_exit_hook(scene: Scene) -> str:
    """Has the exit code forced to 0 when the process ends."""
    return scene.at_import("import atexit, os; atexit.register(os._exit, 0)")


@attack(says=WRONG_AS_EVER)
def a05_comparisons_replaced(scene: Scene) -> str:
    """Replaces the functions that tensors are compared with, in torch and in its tensors."""
    return scene.at_import("""
        import torch

        yes = lambda *args, **kwargs: True
        torch.allclose = torch.equal = torch.Tensor.allclose = torch.Tensor.equal = yes
        torch.isclose = lambda a, b, **kwargs: torch.ones_like(a, dtype=torch.bool)
        torch.testing.assert_close = torch.testing.assert_allclose = lambda *args, **kwargs: None
    """)


@attack(says=WRONG_AS_EVER)
def a06_pytest_patched(scene: Scene) -> str:
    """Makes every test function of pytest do nothing, and every report a good one."""
    return scene.at_import("""
        import _pytest.python, _pytest.reports

        _pytest.python.Function.runtest = lambda self: None
        _pytest.reports.TestReport.failed = property(lambda self: False)
    """)


@attack(says="stopped with Skipped")
def a14_skips_the_module(scene: Scene) -> str:
    """Asks pytest to skip the whole module while it is imported."""
    return scene.at_import("import pytest; pytest.skip('not today', allow_module_level=True)")


@attack(says="stopped with Exit")
def a16_ends_the_session(scene: Scene) -> str:
    """Asks pytest to end the session as passed."""
    return scene.at_import("import pytest; pytest.exit('done', returncode=0)")


@attack(says=WRONG_AS_EVER)
def a22_weights_reset_to_zero(scene: Scene) -> str:
    """Makes every new nn.Linear all zeros, in the hope that the expected values become zeros, too."""
    return scene.at_import("""
        import torch

        torch.nn.Linear.reset_parameters = lambda self: torch.nn.init.zeros_(self.weight)
    """)


@attack(says="killed, by itself or for using too much memory|closed to it")
def a44_kills_its_group(scene: Scene) -> str:
    """Kills its process group, in the hope that the grader is in it."""
    return scene.at_import("import os, signal; os.killpg(0, signal.SIGKILL)")


@attack(says="killed, by itself or for using too much memory|closed to it")
def kills_everything(scene: Scene) -> str:
    """Sends SIGKILL to every process that it may signal."""
    return scene.at_import("import os, signal; os.kill(-1, signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)")


@attack(says="aborted by the library")
def aborts(scene: Scene) -> str:
    """Aborts, which asks the kernel for a core file."""
    return scene.at_import("import os; os.abort()")


@attack(says="stopped with KeyboardInterrupt")
def interrupts(scene: Scene) -> str:
    """Raises what Ctrl-C raises, in the hope that it ends the grader."""
    return scene.at_import("raise KeyboardInterrupt")


@attack(says="stopped with GeneratorExit")
def generator_exit(scene: Scene) -> str:
    """Raises an exception that contexts and generators treat as their own end."""
    return scene.at_import("raise GeneratorExit('done')")


@attack(says=WRONG_AS_EVER)
def softmax_replaced(scene: Scene) -> str:
    """Replaces torch's softmax by the identity, in the hope that the oracle uses it too."""
    return scene.at_import("""
        import torch

        torch.softmax = torch.nn.functional.softmax = torch.Tensor.softmax = lambda x, *args, **kwargs: x
    """)


@attack(says="weights|softmax|answer")
def autograd_replaced(scene: Scene) -> str:
    """Makes every gradient a tensor of zeros."""
    return scene.at_import("""
        import torch

        torch.autograd.grad = lambda outputs, inputs, *args, **kwargs: [torch.zeros_like(i) for i in inputs]
        torch.Tensor.backward = lambda self, *args, **kwargs: None
    """)


@attack(says=WRONG_AS_EVER)
def seeds_ignored(scene: Scene) -> str:
    """Makes seeding do nothing and every random tensor the same, in the hope that inputs become known."""
    return scene.at_import("""
        import random, torch

        torch.manual_seed = torch.Generator.manual_seed = random.seed = lambda *args: None
        torch.randn = torch.rand = lambda *size, **kwargs: torch.zeros(*size)
    """)


@attack(says="not an answer|stopped|answer")
def serializers_replaced(scene: Scene) -> str:
    """Replaces what the answers are written with, json and safetensors, by functions that lie."""
    return scene.at_import("""
        import json, safetensors, safetensors.torch

        json.dumps = lambda *args, **kwargs: '{"ok": true}'
        safetensors.serialize = lambda *args, **kwargs: b"all is well"
        safetensors.torch.load = lambda *args, **kwargs: {}
    """)


@attack(says=WRONG_AS_EVER)
def time_replaced(scene: Scene) -> str:
    """Makes clocks stand still and sleeping free, so that no deadline would ever pass."""
    return scene.at_import("""
        import signal, time

        time.monotonic = time.perf_counter = time.time = lambda: 0.0
        time.sleep = lambda seconds: None
        signal.setitimer(signal.ITIMER_REAL, 0)
    """)


@attack(says=WRONG_AS_EVER)
def signals_ignored(scene: Scene) -> str:
    """Ignores every signal that can be ignored."""
    return scene.at_import("""
        import signal

        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
    """)


@attack(says="not an answer|answer")
def workbench_replaced(scene: Scene) -> str:
    """Replaces the worker's own operations by ones that answer every question with yes."""
    return scene.at_import("""
        import sys

        bench = sys.modules["grader.candidate.workbench"].Workbench
        for name in [name for name in vars(bench) if name.startswith("do_")]:
            setattr(bench, name, lambda self, *args, **kwargs: True)
    """)


@attack(says=WRONG_AS_EVER)
def answers_replaced(scene: Scene) -> str:
    """Replaces how the worker writes values down: every call is said to have returned two ones."""
    return scene.at_import("""
        import sys, torch

        worker = sys.modules["grader.sandbox.worker"]
        honest = worker.encode

        def encode(value):
            if isinstance(value, dict) and "value" in value:
                value = {**value, "value": (torch.ones(2, 5, 4), torch.ones(2, 5, 5))}
            return honest(value)

        worker.encode = encode
    """)


@attack(says="weights|deferred")
def import_hook(scene: Scene) -> str:
    """Installs import and audit hooks and a profiler that see all that is done from now on."""
    return scene.at_import("""
        import builtins, sys

        honest = builtins.__import__

        def spying(name, *args, **kwargs):
            if name.startswith("tests"):
                raise SystemExit(0)
            return honest(name, *args, **kwargs)

        builtins.__import__ = spying
        sys.addaudithook(lambda event, args: None)
        sys.setprofile(lambda *args: None)
        sys.settrace(lambda *args: None)
    """)


@attack(says="stopped with|not an answer|without an answer")
def builtins_replaced(scene: Scene) -> str:
    """Replaces isinstance, len, type and the like for everybody in the process."""
    return scene.after("""
        import builtins

        builtins.isinstance = builtins.issubclass = lambda *args: True
        builtins.len = lambda thing: 1
    """)


@attack(says="no module|ModuleNotFoundError", behind=Code.WRONG)
def imports_the_tests(scene: Scene) -> str:
    """Imports the oracle and the hidden tests as its own modules."""
    return scene.at_import("from tests.support.oracle import attention")


@attack(says="stopped with (LookupError|StopIteration)")
def a11_finds_the_reference(scene: Scene) -> str:
    """Looks through all objects and modules of the process for the oracle, the tests or the scores."""
    return scene.reaching(
        "find()",
        """
        import gc, sys

        WANTED = ("oracle", "tests.", "solutions", "grader.examination", "grader.scoring", "grader.run")

        def find():
            for name in sys.modules:
                if any(word in name and "submission" not in name for word in WANTED):
                    return name
            for thing in gc.get_objects():
                module = getattr(thing, "__module__", None) if isinstance(thing, type) else None
                if isinstance(module, str) and module.startswith(WANTED):
                    return module
            raise LookupError("there is no reference in this process")
        """,
    )


@attack(says="stopped with LookupError")
def a10_walks_the_frames(scene: Scene) -> str:
    """Walks up the callers' frames for the expected values or a test's name."""
    return scene.reaching(
        "walk()",
        """
        import sys

        def walk():
            frame = sys._getframe()
            while frame is not None:
                for name in ("expected", "oracle", "reference", "outcomes", "suite", "sitting", "item"):
                    if name in frame.f_locals:
                        return name
                frame = frame.f_back
            raise LookupError("no caller knows the answer")
        """,
    )
