"""The simulated accelerator: what may be done on it, what is caught, and what is said of it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from kinds import SAMPLES, same
from project import ROOT, Project, Ran, copied, hand_in, replace, results, run

from grader.assignment import load_assignment
from grader.candidate.accelerator import Accelerator, real_accelerator
from grader.candidate.faults import CandidateError, StudentError
from grader.candidate.interface import Candidate, Model
from grader.quality.cases import load_lookalikes
from grader.sandbox.isolated import isolated_candidate
from grader.sandbox.launch import ColdStarter, launcher

pytestmark = pytest.mark.skipif(
    real_accelerator() is not None, reason="there is a real accelerator, which is used instead"
)
FILE = SAMPLES / "on_device.py"
SIMULATED = Accelerator("simulated", simulated=True)


def steps() -> Any:
    """The submission as a module of this process, for the names of its steps only."""
    spec = importlib.util.spec_from_file_location("steps_of_on_device", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STEPS = steps()
HOMES = dict.fromkeys(("Step", "Fetching", "Dropping", "Keeping"), FILE.name)


@pytest.fixture(scope="module")
def submission() -> Iterator[Candidate]:
    starter = launcher()
    candidate, _ = isolated_candidate(starter, {FILE.name: FILE.read_bytes()}, HOMES)
    yield candidate
    candidate.close()
    starter.close()


@pytest.fixture
def candidate(submission: Candidate) -> Candidate:
    submission.begin(seed=3)
    return submission


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(5))


def there(candidate: Candidate, name: str, *args: Any) -> Model:
    return candidate.build(name, *args).to(device="accelerator")


def gradient(model: Model, x: torch.Tensor, cotangent: torch.Tensor) -> torch.Tensor | None:
    found = model.gradients(x, cotangents=[cotangent]).inputs
    assert found is not None
    return found[0]


# single steps


@pytest.mark.parametrize("name", STEPS.STAYING)
def test_a_step_that_stays_gives_the_values_and_gradients_of_the_cpu(
    candidate: Candidate, x: torch.Tensor, name: str
) -> None:
    here, moved = candidate.build("Step", "staying", name), there(candidate, "Step", "staying", name)
    seen = moved.watch("forward", x)
    expected = here(x)
    assert seen.devices == ["simulated:0"]
    assert same(seen.value, expected)
    cotangent = torch.ones_like(expected)
    assert same(gradient(moved, x, cotangent), gradient(here, x, cotangent))


@pytest.mark.parametrize("name", STEPS.LEAVING)
def test_a_step_that_leaves_the_device_is_caught(candidate: Candidate, x: torch.Tensor, name: str) -> None:
    with pytest.raises(StudentError) as caught:
        there(candidate, "Step", "leaving", name)(x)
    said = caught.value.message
    if "cuda" in name:
        assert "The device cuda is hard-coded." in said
    elif name == "numpy":
        assert "can't convert simulated:0 device type tensor to numpy" in said
    else:
        assert "at least two devices, simulated:0 and cpu!" in said
    assert caught.value.lines[-1].file == FILE.name


def test_a_result_that_was_brought_home_is_seen_to_be_there(candidate: Candidate, x: torch.Tensor) -> None:
    assert there(candidate, "Fetching").watch("forward", x).devices == ["cpu"]


def test_dropout_drops_in_train_mode_and_not_in_eval_mode(candidate: Candidate, x: torch.Tensor) -> None:
    model = there(candidate, "Dropping")
    kept = model.train()(x)
    assert 0.2 < (kept == 0).double().mean() < 0.8
    assert same(kept[kept != 0], 2 * x[kept != 0])
    assert same(model.eval()(x), x)


# moving a module


def test_shared_and_listed_parameters_stay_one_wherever_the_module_goes(
    candidate: Candidate, x: torch.Tensor
) -> None:
    model = candidate.build("Keeping")
    expected = model(x)
    for device in ("accelerator", "cpu", "accelerator"):
        model.to(device=device)
        assert same(model(x), expected)


def test_parameters_are_loaded_and_read_where_they_are(candidate: Candidate) -> None:
    model = there(candidate, "Keeping")
    model.load({"first.weight": torch.eye(12)})
    assert same(model.parameters()["second.weight"], torch.eye(12))


def test_a_module_changes_its_dtype_where_it_is(candidate: Candidate, x: torch.Tensor) -> None:
    model = there(candidate, "Keeping").to(dtype=torch.float64)
    seen = model.watch("forward", x.double())
    assert (seen.devices, seen.value.dtype) == (["simulated:0"], torch.float64)


def test_a_tensor_that_the_module_does_not_know_of_is_left_behind(
    candidate: Candidate, x: torch.Tensor
) -> None:
    assert candidate.build("Keeping", True)(x).shape == x.shape
    with pytest.raises(CandidateError, match="left behind when the layer was moved"):
        there(candidate, "Keeping", True)(x)


# where it is, and where it is not


def test_a_candidate_says_which_accelerator_it_has(candidate: Candidate) -> None:
    assert candidate.accelerator() == SIMULATED
    assert (str(SIMULATED), str(Accelerator("cuda", simulated=False))) == ("simulated accelerator", "cuda")


def test_a_worker_started_cold_has_one_too(x: torch.Tensor) -> None:
    candidate, _ = isolated_candidate(ColdStarter(), {FILE.name: FILE.read_bytes()}, HOMES)
    assert candidate.accelerator() == SIMULATED
    assert there(candidate, "Step", "staying", "vmap").watch("forward", x).devices == ["simulated:0"]
    candidate.close()


def test_code_that_looks_for_an_accelerator_itself_finds_none() -> None:
    ended = run(
        "-c",
        "import torch; from grader.candidate import accelerator; accelerator.prepare();"
        "print(torch.accelerator.is_available(), torch.cuda.is_available(), torch.ones(1))",
        cwd=ROOT,
    )
    assert ended.out.split() == ["False", "False", "tensor([1.])"]


# the suite's device tests

SELF = "self_attention"
ROOT_OF_D_K = "math.sqrt(self.d_k)"
FILL = 'scores.masked_fill(mask == 0, float("-inf"))'
SCORES = "/ math.sqrt(self.d_k)"
MISTAKES = {
    "scale-made-on-the-cpu": (ROOT_OF_D_K, "torch.sqrt(torch.tensor([float(self.d_k)], dtype=x.dtype))"),
    "fill-made-on-the-cpu": (
        FILL,
        'torch.where(mask == 0, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)',
    ),
    "hard-coded-cuda": (ROOT_OF_D_K, "torch.tensor(float(self.d_k)).sqrt().cuda()"),
    "weights-not-registered": (
        "self.W_V = nn.Linear(d_model, self.d_k, bias=False)",
        "self.W_V = nn.Linear(d_model, self.d_k, bias=False)\n        self.inner = [nn.Linear(d_model, 1)]\n"
        "        self.inner[0].weight.requires_grad_(False).zero_()\n"
        "        self.inner[0].bias.requires_grad_(False).zero_()",
    ),
    "bias-kept-on-the-cpu": (
        "self.W_V = nn.Linear(d_model, self.d_k, bias=False)",
        "self.W_V = nn.Linear(d_model, self.d_k, bias=False)\n        self.bias = torch.zeros(self.d_k)",
    ),
}
USES = {  # what makes forward use what the constructor keeps
    "weights-not-registered": ("self.W_V(x)", "(self.W_V(x) + self.inner[0](x))"),
    "bias-kept-on-the-cpu": ("self.W_V(x)", "(self.W_V(x) + self.bias.to(x.dtype))"),
}
LOOKALIKES = ("self-vmap", "self-scale-buffer", "cross-checkpointed-chunks", "mha-own-dropout", "mha-einsum")
REST = '''\
from grader.examination.marks import aspect


@aspect("parity", self_attention=32, cross_attention=32, multi_head_attention=52, split_heads=11)
def test_nothing_else(exercise: str) -> None:
    """Nothing else is examined here."""
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy whose hidden tests are those on the device, and one that makes up the points."""
    project = copied(tmp_path_factory.mktemp("device") / "copy", suite=REST)
    (project.root / "tests/hidden/test_device.py").write_text(
        (ROOT / "tests/hidden/test_device.py").read_text()
    )
    return project


@pytest.fixture(scope="module")
def graded(project: Project) -> dict[str, dict[str, Any]]:
    folder, out = project.root / "class", project.root / "out"
    hand_in(folder / "solutions")
    for name, (old, new) in MISTAKES.items():
        file = hand_in(folder / name) / "self_attention.py"
        replace(file, old, new)
        if name in USES:
            replace(file, *USES[name])
    for case in load_lookalikes(ROOT / "tests/cases/lookalikes", load_assignment(ROOT)):
        if case.id in LOOKALIKES:
            (folder / case.id).mkdir()
            for name, content in case.submission.files.items():
                (folder / case.id / name).write_bytes(content)
    _succeeded(project.run("grade", folder, "--out", out, "--jobs", "1"))
    return results(out)


def on_device(result: dict[str, Any], *exercises: str) -> list[dict[str, Any]]:
    return [t for t in result["tests"] if t["aspect"] == "device" and t["exercise"] in exercises]


def _succeeded(ended: Ran) -> None:
    assert ended.status == 0, ended.both


def test_the_solutions_pass_every_device_test_and_the_outcome_names_the_device(
    graded: dict[str, dict[str, Any]],
) -> None:
    tests = [test for test in graded["solutions"]["tests"] if test["aspect"] == "device"]
    assert {(test["status"], test["device"]) for test in tests} == {("passed", "simulated accelerator")}
    assert {test["device"] for test in graded["solutions"]["tests"] if test not in tests} == {"cpu"}
    assert graded["solutions"]["score"] == 100


@pytest.mark.parametrize("name", LOOKALIKES)
def test_an_unusual_right_answer_passes_every_device_test(
    graded: dict[str, dict[str, Any]], name: str
) -> None:
    handed_in = {"self": ["self_attention"], "cross": ["cross_attention"]}
    exercises = handed_in.get(name.split("-")[0], ["multi_head_attention", "split_heads"])
    assert {test["status"] for test in on_device(graded[name], *exercises)} == {"passed"}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_layer_that_keeps_to_the_cpu_fails_and_is_told_where_it_was_tried(
    graded: dict[str, dict[str, Any]], name: str
) -> None:
    failed = [test for test in on_device(graded[name], SELF) if test["status"] == "failed"]
    assert {test["device"] for test in failed} == {"simulated accelerator"}
    assert all("Tried on a simulated accelerator." in test["message"] for test in failed)
    masked = next(test["message"] for test in failed if "answer_is_the_same" in test["id"])
    assert ("hard-coded" if "cuda" in name else "at least two devices, simulated:0 and cpu!") in masked
    assert "Your code: self_attention.py, line" in masked


def test_required_gpu_that_is_missing_takes_the_points_and_says_so(project: Project) -> None:
    out = project.root / "required"
    _succeeded(project.run("grade", project.root / "solutions", "--out", out, "--require-gpu"))
    (result,) = results(out).values()
    tests = [test for test in result["tests"] if test["aspect"] == "device"]
    assert {(test["status"], test["score"], test["device"]) for test in tests} == {("not_run", 0, "cpu")}
    assert all("--require-gpu asks for a real accelerator" in test["message"] for test in tests)
    assert result["score"] == 95.5


@pytest.mark.parametrize(("option", "said"), [("--seed=1", "passed"), ("--require-gpu", "skipped")])
def test_plain_pytest_runs_the_device_tests_here_too(project: Project, option: str, said: str) -> None:
    file = project.root / "tests/hidden/test_device.py"
    ended = run("-m", "pytest", "-q", file, "-k", SELF, "--candidate=solutions", option, cwd=project.root)
    assert re.search(rf"^\d+ {said}, \d+ deselected", ended.out, re.M), ended.out  # nothing failed
