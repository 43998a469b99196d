"""What holds for a candidate whichever way it runs: in this process, behind the wall, warm or cold."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.candidate.faults import CandidateError, NotHandedIn, NotUsable, Refused, StudentError
from grader.candidate.interface import Candidate
from grader.candidate.isolated import isolated_candidate
from grader.candidate.launch import ColdStarter, Launcher, WarmHost
from grader.candidate.levels import warm_start_possible
from grader.candidate.local import local_candidate
from grader.candidate.values import CROSSING_DTYPES, Opaque

SAMPLES = Path(__file__).parent / "candidates"
CLASSES = ("Affine", "Dropping", "Sharing", "Hiding", "Cut", "Plain", "NotConstructed")
FUNCTIONS = ("echo", "layout", "spoil", "strange", "unspeakable", "beyond", "fail", "attend", "by_hand")
HOMES = dict.fromkeys((*CLASSES, *FUNCTIONS, "multiply", "NUMBER", "absent"), "zoo.py")
REFUSED = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
)

Make = Callable[..., Candidate]


@pytest.fixture(
    scope="module",
    params=[
        "local",
        pytest.param("warm", marks=pytest.mark.skipif(not warm_start_possible(), reason="needs fork")),
        "cold",
    ],
)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def make(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Makes a candidate of the kind from sources; ends them all, and forgets their modules."""
    launcher: Launcher | None = {"warm": WarmHost, "cold": ColdStarter}[kind]() if kind != "local" else None
    made: list[Candidate] = []
    modules, path = set(sys.modules), list(sys.path)

    def build(files: dict[str, str], homes: dict[str, str], **settings: Any) -> Candidate:
        if launcher is not None:
            sources = {name: text.encode() for name, text in files.items()}
            made.append(isolated_candidate(launcher, sources, homes, **settings)[0])
            return made[-1]
        folder = tmp_path_factory.mktemp("submission")
        for name, text in files.items():
            (folder / name).write_text(text)
        made.append(local_candidate(folder, homes, **settings))
        return made[-1]

    yield build
    for candidate in made:
        candidate.close()
    if launcher is not None:
        launcher.close()
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if "submission" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def zoo(make: Make) -> Candidate:
    files = {file.name: file.read_text() for file in SAMPLES.glob("*.py")}
    return make(files, HOMES, refused={"attend": REFUSED}, problems={"unread": "The file is not text."})


@pytest.fixture
def candidate(zoo: Candidate) -> Candidate:
    zoo.begin(seed=7)
    return zoo


def same(left: Any, right: Any) -> bool:
    """Equal in value and in type, all the way down; NaN equals NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or (left != left and right != right)


# building and calling


def test_a_class_is_built_with_its_arguments_and_called(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, d_out=3, scale=2.0)
    model.load({"W.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])})
    output, total = model(torch.tensor([[1.0, 2.0]]))
    assert same(output, torch.tensor([[2.0, 4.0, 6.0]]))
    assert same(total, torch.tensor(12.0))


def test_keyword_arguments_reach_forward(candidate: Candidate) -> None:
    output, _ = candidate.build("Affine", 2, 3)(torch.ones(1, 2), mask=torch.zeros(3))
    assert same(output.abs(), torch.zeros(1, 3))


def test_a_named_method_is_called_with_its_keywords(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, 3)
    assert same(model.call("double", torch.ones(2), times=3), torch.full((2,), 3.0))


def test_a_plain_class_has_methods_but_no_parameters(candidate: Candidate) -> None:
    plain = candidate.build("Plain")
    assert plain.call("add", 2, 3) == 5
    with pytest.raises(NotUsable, match=r"must be a torch\.nn\.Module"):
        plain.parameters()


def test_a_function_is_applied(candidate: Candidate) -> None:
    assert same(candidate.apply("echo", 1, second="2").value, [1, {"second": "2"}])


def test_a_definition_is_found_in_the_students_file(candidate: Candidate) -> None:
    where = candidate.load("Affine")
    line = (SAMPLES / "zoo.py").read_text().splitlines().index("class Affine(nn.Module):") + 1
    assert (where.file, where.line) == ("zoo.py", line)


# values across the wall


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -(2**63),
        2**64 - 1,
        1.5,
        math.inf,
        -math.inf,
        math.nan,
        "",
        'straße\n"\0',
        (),
        (1, (2, [3, None])),
        [[], (), {}],
        {"a": (1,), "$": "tensor"},
        {3: "three"},
        [torch.ones(2), {"t": torch.zeros(1, dtype=torch.int8)}],
    ],
    ids=repr,
)
def test_plain_data_crosses_both_ways_unchanged(candidate: Candidate, value: Any) -> None:
    assert same(candidate.apply("echo", value).value, value)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", sorted(CROSSING_DTYPES, key=str), ids=str)
def test_every_dtype_and_shape_crosses_both_ways(
    candidate: Candidate, dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    tensor = (torch.rand(shape) * 5).to(dtype)
    assert same(candidate.apply("echo", tensor).value, tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3, 2).T,
        torch.ones(2, 3, 4).transpose(0, 2),
        torch.ones(4, 6)[:, ::2],
        torch.ones(2, 1, 3).expand(2, 5, 3),
        torch.ones(1, 1).expand(3, 4),
        torch.ones(2, 3, 4).permute(2, 0, 1)[1:, :, ::2],
    ],
    ids=lambda tensor: f"{tuple(tensor.shape)}-{tensor.stride()}",
)
def test_an_input_keeps_its_strides(candidate: Candidate, tensor: torch.Tensor) -> None:
    shape, strides, contiguous = candidate.apply("layout", tensor).value
    assert (shape, strides, contiguous) == (list(tensor.shape), list(tensor.stride()), False)
    assert same(candidate.apply("echo", tensor).value, tensor)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("subclass", torch.arange(6.0).view(2, 3)),
        ("parameter", torch.arange(6.0).view(2, 3)),
        ("sharing", [torch.arange(4.0), torch.arange(1.0, 4.0), torch.arange(4.0)]),
        ("conjugate", torch.tensor([-2.0, 4.0])),
        ("transposed", torch.arange(6.0).view(2, 3).T),
        ("expanded", torch.ones(2, 3)),
        ("point", (1, [2])),
        ("size", (2, 3)),
        ("ordered", {"a": 1}),
        ("int", 1),
        ("str", "true"),
        ("surrogate", "?!"),
    ],
)
def test_subclasses_come_back_as_what_they_are(candidate: Candidate, name: str, expected: Any) -> None:
    assert same(candidate.apply("strange", name).value, expected)


@pytest.mark.parametrize(
    "name",
    ["object", "set", "sparse", "complex", "meta", "huge", "metaclass", "function", "module", "half"],
)
def test_anything_else_comes_back_as_the_name_of_its_type(candidate: Candidate, name: str) -> None:
    value = candidate.apply("unspeakable", name).value
    assert type(value) is Opaque
    assert type(value.type_name) is str


def test_an_opaque_value_tells_its_real_type(candidate: Candidate) -> None:
    assert candidate.apply("unspeakable", "object").value == Opaque("zoo.EqualToAll")


@pytest.mark.parametrize("name", ["deep", "wide", "tensors", "keys"])
def test_a_value_beyond_the_limits_is_the_students_fault(candidate: Candidate, name: str) -> None:
    with pytest.raises(NotUsable):
        candidate.apply("beyond", name)


def test_the_caller_sees_what_became_of_its_arguments(candidate: Candidate) -> None:
    mine = torch.ones(2)
    call = candidate.apply("spoil", mine, extra={})
    assert same(call.args, [torch.zeros(2)])
    assert call.kwargs == {"extra": {"seen": True}}
    assert same(mine, torch.ones(2))


def test_a_call_tells_where_its_tensors_live(candidate: Candidate) -> None:
    assert candidate.build("Affine", 2, 2).watch("forward", torch.ones(1, 2)).devices == ["cpu"]


# parameters, modes, gradients


def test_parameters_are_read_as_they_were_loaded(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, 3)
    weight = torch.rand(3, 2)
    model.load({"W.weight": weight})
    assert same(model.parameters(), {"W.weight": weight})


def test_a_shared_parameter_has_all_its_names(candidate: Candidate) -> None:
    assert set(candidate.build("Sharing").parameters()) == {"a.weight", "b.weight"}


def test_an_overridden_listing_hides_no_parameter(candidate: Candidate) -> None:
    assert set(candidate.build("Hiding").parameters()) == {"W.weight"}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"V.weight": torch.ones(3, 2)}, "no parameter called V.weight"),
        ({"W.weight": torch.ones(2, 3)}, "has shape (3, 2)"),
    ],
)
def test_weights_that_do_not_fit_are_refused_in_words(
    candidate: Candidate, weights: dict[str, torch.Tensor], words: str
) -> None:
    model = candidate.build("Affine", 2, 3)
    with pytest.raises(NotUsable) as caught:
        model.load(weights)
    assert words in str(caught.value)


def test_train_and_eval_reach_the_model(candidate: Candidate) -> None:
    model, x = candidate.build("Dropping"), torch.ones(200)
    assert same(model.eval()(x), x)
    assert (model.train()(x) == 0).any()


def test_beginning_again_repeats_the_random_numbers(candidate: Candidate) -> None:
    def draw(seed: int) -> torch.Tensor:
        candidate.begin(seed)
        value: torch.Tensor = candidate.build("Dropping").train()(torch.ones(100))
        return value

    assert same(draw(1), draw(1))
    assert not same(draw(1), draw(2))


def test_a_model_of_an_earlier_test_is_gone(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, 2)
    candidate.begin(8)
    with pytest.raises(NotUsable, match="earlier test"):
        model(torch.ones(1, 2))


def test_to_changes_the_type_of_the_parameters(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, 2).to(dtype=torch.float64)
    assert model.parameters()["W.weight"].dtype == torch.float64
    assert model(torch.ones(1, 2, dtype=torch.float64))[0].dtype == torch.float64


def test_gradients_are_weighted_by_their_cotangents(candidate: Candidate) -> None:
    model, x = candidate.build("Affine", 2, 3), torch.rand(4, 2)
    cotangent = torch.rand(4, 3)
    found = model.gradients(x, cotangents=[cotangent, None])
    assert found.inputs is not None
    assert found.parameters is not None
    torch.testing.assert_close(found.inputs[0], cotangent @ model.parameters()["W.weight"])
    torch.testing.assert_close(found.parameters["W.weight"], cotangent.T @ x)


def test_a_gradient_that_does_not_arrive_is_none(candidate: Candidate) -> None:
    found = candidate.build("Cut").gradients(torch.ones(1, 3), torch.ones(1, 3), cotangents=[torch.ones(1, 3)])
    assert found.inputs is not None
    assert found.parameters is not None
    assert [gradient is None for gradient in found.inputs] == [False, True]
    assert {name: g is None for name, g in found.parameters.items()} == {
        "reached.weight": False,
        "missed.weight": True,
    }


def test_an_argument_that_is_no_floating_tensor_has_no_gradient(candidate: Candidate) -> None:
    mask = torch.ones(3, dtype=torch.int64)
    found = candidate.build("Affine", 2, 3).gradients(torch.ones(1, 2), mask, cotangents=[torch.ones(1, 3)])
    assert found.inputs is not None
    assert found.inputs[1] is None


def test_outputs_of_another_shape_have_no_gradients(candidate: Candidate) -> None:
    found = candidate.build("Affine", 2, 3).gradients(torch.ones(1, 2), cotangents=[torch.ones(1, 4)])
    assert (found.inputs, found.parameters) == (None, None)
    assert found.value[0].shape == (1, 3)


def test_operations_are_counted(candidate: Candidate) -> None:
    counts = [candidate.count_operations("multiply", torch.ones(2, 2), n)["aten.mm"] for n in (1, 5)]
    assert counts == [1, 5]
    assert candidate.build("Affine", 2, 2).count_operations(torch.ones(1, 2))["aten.mm"] == 1


# what goes wrong


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("value", "ValueError", "invalid literal for int() with base 10: 'three'"),
        ("exit", "SystemExit", "3"),
        ("base", "Interrupted", "stop"),
        ("generator", "GeneratorExit", ""),
        ("skip", "Skipped", "skip me"),
        ("pytest-exit", "Exit", "leave"),
        ("pytest-fail", "Failed", "failed"),
        ("mute", "Mute", "(its message could not be read)"),
        ("masked", "Masked", "x"),
        ("long", "ValueError", "x" * 2000),
        ("surrogate", "ValueError", "?!"),
    ],
)
def test_an_exception_is_a_type_and_a_message(
    candidate: Candidate, name: str, error: str, message: str
) -> None:
    with pytest.raises(StudentError) as caught:
        candidate.apply("fail", name)
    assert (caught.value.kind, caught.value.message) == (error, message)
    assert same(candidate.apply("echo", 1).value, 1)


def test_an_exception_tells_the_students_own_lines_only(candidate: Candidate) -> None:
    with pytest.raises(StudentError) as caught:
        candidate.apply("fail", "division")
    lines = [(line.file, line.function, line.text) for line in caught.value.lines]
    assert lines == [
        ("zoo.py", "fail", "return deeds[kind]()"),
        ("zoo.py", "<lambda>", '"division": lambda: helper.divide(1, 0),'),
        ("helper.py", "divide", "return a / b"),
    ]


def test_an_exception_inside_the_library_ends_at_the_students_line(candidate: Candidate) -> None:
    with pytest.raises(StudentError) as caught:
        candidate.apply("fail", "shapes")
    assert caught.value.lines[-1].text == '"shapes": lambda: torch.ones(2) + torch.ones(3),'


def test_endless_recursion_tells_the_innermost_lines(candidate: Candidate) -> None:
    with pytest.raises(StudentError) as caught:
        candidate.apply("fail", "recursion")
    assert caught.value.kind == "RecursionError"
    assert {line.function for line in caught.value.lines} == {"endless"}


@pytest.mark.parametrize("name", ["interrupt", "quit"])
def test_an_interrupt_stops_a_students_own_run_and_no_other(candidate: Candidate, kind: str, name: str) -> None:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - its type is what is looked at
        candidate.apply("fail", name)
    assert (type(caught.value) is StudentError) == (kind != "local")


def test_a_constructor_that_fails_tells_why(candidate: Candidate) -> None:
    with pytest.raises(StudentError, match="^NotImplementedError: write me$"):
        candidate.build("NotConstructed")


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("absent", NotUsable, "did not define absent"),
        ("NUMBER", NotUsable, "NUMBER must be a class"),
        ("nowhere", NotHandedIn, "nowhere was not handed in"),
        ("unread", NotHandedIn, "The file is not text."),
    ],
)
def test_a_name_that_cannot_be_built_is_explained(
    candidate: Candidate, name: str, error: type[CandidateError], words: str
) -> None:
    with pytest.raises(error, match=words):
        candidate.build(name)


def test_a_missing_name_does_not_take_the_files_other_names_with_it(make: Make) -> None:
    candidate = make({"half.py": "def there():\n    return 1\n"}, {"there": "half.py", "gone": "half.py"})
    with pytest.raises(NotUsable, match="did not define gone"):
        candidate.apply("gone")
    assert candidate.apply("there").value == 1


def test_a_missing_method_is_explained(candidate: Candidate) -> None:
    with pytest.raises(NotUsable, match="Affine has no method merge_heads"):
        candidate.build("Affine", 2, 2).call("merge_heads", torch.ones(2))


@pytest.mark.parametrize(
    "alias",
    ["from-import-as", "functional", "torch", "operator", "class", "subclass", "built-before", "encoder"],
)
def test_a_refused_library_call_is_refused_under_every_alias(candidate: Candidate, alias: str) -> None:
    with pytest.raises(Refused, match="is refused in this exercise") as caught:
        candidate.apply("attend", alias)
    assert caught.value.lines[-1].file == "zoo.py"


def test_what_is_refused_in_one_name_is_free_in_another(candidate: Candidate) -> None:
    x = torch.rand(1, 3, 4)
    with pytest.raises(Refused):
        candidate.apply("attend", "class")
    assert same(candidate.apply("by_hand", x).value.shape, x.shape)
    assert torch.nn.MultiheadAttention(4, 2).num_heads == 2


# files


def test_a_file_named_like_a_librarys_module_does_not_stand_in_for_it(make: Make) -> None:
    source = "def answer():\n    import math\n    return math.sqrt(4)\n\ndef sqrt(x):\n    return 'mine'\n"
    candidate = make({"math.py": source}, {"answer": "math.py"})
    assert candidate.apply("answer").value == 2.0


def test_files_that_import_one_another_are_imported_once(make: Make) -> None:
    files = {
        "first_part.py": "import second_part\n\ndef first():\n    return second_part.STAMP\n",
        "second_part.py": "import time\nSTAMP = time.time_ns()\n\ndef second():\n    return STAMP\n",
    }
    candidate = make(files, {"first": "first_part.py", "second": "second_part.py"})
    assert candidate.apply("first").value == candidate.apply("second").value


def test_a_file_that_fails_to_import_is_tried_once(make: Make) -> None:
    source = "import time\nraise ValueError(time.time_ns())\n"
    candidate = make({"broken_file.py": source}, {"one": "broken_file.py", "two": "broken_file.py"})
    messages = set()
    for name in ("one", "one", "two"):
        with pytest.raises(StudentError) as caught:
            candidate.build(name)
        messages.add(caught.value.message)
    assert len(messages) == 1
    assert str(caught.value.lines[-1]) == "broken_file.py:2"


def test_a_syntax_error_points_at_its_line(make: Make) -> None:
    candidate = make({"unfinished.py": "def f(:\n    pass\n"}, {"f": "unfinished.py"})
    with pytest.raises(StudentError) as caught:
        candidate.apply("f")
    assert caught.value.kind == "SyntaxError"
    assert str(caught.value.lines[-1]) == "unfinished.py:1"
