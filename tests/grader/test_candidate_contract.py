"""What holds for a candidate whichever way it runs: in this process, behind the wall, warm or cold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from kinds import KINDS, SAMPLES, open_zoo, same

from grader.candidate.faults import CandidateError, NotHandedIn, NotUsable, Refused, StudentError
from grader.candidate.interface import Candidate
from grader.candidate.values import Described

EYE = {"W.weight": torch.eye(2)}


@pytest.fixture(scope="module", params=KINDS)
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    with open_zoo(request.param, tmp_path_factory.mktemp("submission")) as candidate:
        yield candidate


@pytest.fixture
def candidate(zoo: Candidate) -> Candidate:
    zoo.begin(seed=7)
    return zoo


# building and calling


def test_a_class_is_built_with_its_arguments_and_called(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, d_out=3, scale=2.0)
    model.load({"W.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])})
    output, total = model(torch.tensor([[1.0, 2.0]]))
    assert same(output, torch.tensor([[2.0, 4.0, 6.0]]))
    assert same(total, torch.tensor(12.0))


def test_calls_together_answer_in_their_order(candidate: Candidate) -> None:
    double, triple = (candidate.prepare("Affine", (2, 2), {"scale": scale}, EYE) for scale in (2.0, 3.0))
    x = torch.tensor([[1.0, 2.0]])
    found = candidate.batch_call([(double, (x,), {}), (triple, (x,), {"mask": torch.zeros(2)})])
    assert same([output for output, _ in found], [2 * x, 0 * x])


def test_calls_together_do_not_share_what_they_write_into(candidate: Candidate) -> None:
    model = candidate.build("Spoiling")
    first, second = candidate.batch_call([(model, (torch.ones(2),), {})] * 2)
    assert same(first, second)


def test_the_first_of_calls_together_to_fail_is_the_one_told(candidate: Candidate) -> None:
    model = candidate.build("Affine", 2, 2)
    calls = [(model, (torch.ones(1, size),), {}) for size in (2, 3, 4)]
    with pytest.raises(StudentError, match="1x3"):
        candidate.batch_call(calls)


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
    model.load(weights)
    with pytest.raises(NotUsable) as caught:
        model.parameters()
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
    found = candidate.build("Cut").gradients(
        torch.ones(1, 3), torch.ones(1, 3), cotangents=[torch.ones(1, 3)]
    )
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
def test_an_interrupt_stops_a_students_own_run_and_no_other(candidate: Candidate, name: str) -> None:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - its type is what is looked at
        candidate.apply("fail", name)
    assert (type(caught.value) is StudentError) == (candidate.isolation != "none")


def test_a_constructor_that_fails_tells_why(candidate: Candidate) -> None:
    with pytest.raises(StudentError, match=r"^NotImplementedError: write me$"):
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


def test_a_missing_name_does_not_take_the_files_other_names_with_it(candidate: Candidate) -> None:
    with pytest.raises(NotUsable, match="did not define absent"):
        candidate.apply("absent")
    assert candidate.apply("never_asked_before").value == "here"


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


# functions and figures


def test_a_function_is_differentiated(candidate: Candidate) -> None:
    a, b = torch.rand(2, 3), torch.rand(2, 3)
    found = candidate.gradients("product", a, b, cotangents=[torch.full((2, 3), 2.0)])
    assert same(found.inputs, [2 * b, 2 * a])
    assert found.parameters == {}


def test_a_function_is_applied_on_the_accelerator(candidate: Candidate) -> None:
    seen = candidate.apply_on("accelerator", "product", torch.tensor([2.0]), torch.tensor([3.0]))
    assert same(seen.value, torch.tensor([6.0]))
    assert all(candidate.accelerator().holds(device) for device in seen.devices)


def test_what_was_asked_last_is_known_until_the_next_test(candidate: Candidate) -> None:
    assert candidate.asked is None
    candidate.apply("echo", 1)
    candidate.build("Affine", 2, 2)
    assert candidate.asked == "Affine"


def test_a_figure_comes_back_as_what_it_shows(candidate: Candidate) -> None:
    values = torch.tensor([[0.5, -0.5, 0.0], [0.1, 0.2, 0.3]], dtype=torch.float64)
    figure, backend = candidate.apply("draw", values, ["a", "b", "a"]).value
    assert isinstance(figure, Described)
    assert (figure.type_name, figure.facts["title"], backend.lower()) == (
        "matplotlib.figure.Figure",
        "The whole",
        "agg",
    )
    left, right, bar = figure.facts["axes"]
    assert [axes["is_colorbar"] for axes in (left, right, bar)] == [False, False, True]
    assert (left["title"], left["x_label"], left["y_label"]) == ("A title", "along", "down")
    assert left["x_ticks"] == [[0.0, "a"], [1.0, "b"], [2.0, "a"]]
    assert (left["visible"], right["visible"], bar["heat_maps"]) == (True, False, [])
    (drawn,) = left["heat_maps"]
    assert same(drawn["values"], values)
    assert (drawn["x"].tolist(), drawn["y"].tolist()) == ([0.0, 1.0, 2.0], [0.0, 1.0])
    assert (drawn["low"], drawn["high"]) == (-1.0, 1.0)


def test_a_mesh_is_a_heat_map_too(candidate: Candidate) -> None:
    (axes,) = candidate.apply("draw_mesh", torch.eye(2)).value.facts["axes"]
    (drawn,) = axes["heat_maps"]
    assert same(drawn["values"], torch.eye(2, dtype=torch.float64))
    assert (drawn["x"].tolist(), drawn["y"].tolist()) == ([0.5, 1.5], [0.5, 1.5])
    assert not axes["x_labels_shown"]


def test_figures_are_forgotten_from_test_to_test(candidate: Candidate) -> None:
    candidate.apply("draw", torch.eye(2), ["a", "b"])
    assert candidate.apply("open_figures").value == 1
    candidate.begin(seed=8)
    assert candidate.apply("open_figures").value == 0


# files


def test_a_file_named_like_a_librarys_module_does_not_stand_in_for_it(candidate: Candidate) -> None:
    assert candidate.apply("root_of_four").value == 2.0


def test_files_that_import_one_another_are_imported_once(candidate: Candidate) -> None:
    assert candidate.apply("first").value == candidate.apply("second").value


def test_a_file_that_fails_to_import_is_tried_once(candidate: Candidate) -> None:
    messages = set()
    for name in ("broken_one", "broken_one", "broken_other"):
        with pytest.raises(StudentError) as caught:
            candidate.build(name)
        messages.add(caught.value.message)
    assert len(messages) == 1
    assert str(caught.value.lines[-1]) == "broken_file.py:2"


def test_a_syntax_error_points_at_its_line(candidate: Candidate) -> None:
    with pytest.raises(StudentError) as caught:
        candidate.apply("unfinished")
    assert caught.value.kind == "SyntaxError"
    assert str(caught.value.lines[-1]) == "unfinished_file.py:1"
