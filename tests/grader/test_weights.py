"""Weights: what a test is worth beside its exercise's other tests, whatever part of them is run."""

from __future__ import annotations

from fractions import Fraction

import pytest

from grader.examination.marks import aspect
from tests.grader.project import Project, copied, run

FILE = "tests/hidden/test_small.py"

THREE_TESTS = """\
import pytest

from grader.examination.marks import aspect
from grader.examination.verdicts import WrongAnswer


@aspect("shapes", "self_attention", "cross_attention", cross_attention=0.5)
def test_light(exercise: str) -> None:
    \"""This one always holds.\"""


@aspect("parity", "self_attention", "cross_attention", weight=2)
@pytest.mark.parametrize("case", range(3))
def test_heavy(exercise: str, case: int) -> None:
    \"""This one never holds.\"""
    raise WrongAnswer("it does not hold.")
"""
MORE_TESTS = """\
from grader.examination.marks import aspect


@aspect("parity", "self_attention", weight=0.4)
def test_in_another_file() -> None:
    \"""This one always holds.\"""


@aspect("parity", "split_heads", "multi_head_attention")
def test_of_the_other_exercises(exercise: str) -> None:
    \"""This one always holds.\"""
"""
WORTH = """\
import json
from pathlib import Path
from grader.examination.suite import HIDDEN, with_suite
def worth(suite):
    tests = [test for test in suite.tests if test.id.startswith(HIDDEN)]
    return {test.id.partition("::")[2]: str(test.points) for test in tests}
print(json.dumps(with_suite(Path.cwd(), worth)))
"""


def weights(mark: pytest.MarkDecorator) -> dict[str, Fraction]:
    """Exercise -> weight."""
    return dict(mark.kwargs["weights"])


def test_a_test_weighs_one_unless_said() -> None:
    assert weights(aspect("parity", "one", "two")) == {"one": 1, "two": 1}


def test_a_weight_counts_in_every_exercise_that_has_none_of_its_own() -> None:
    mark = aspect("parity", "one", "two", weight=2, two=0.1, three=3)
    assert weights(mark) == {"one": 2, "two": Fraction(1, 10), "three": 3}


@pytest.mark.parametrize(
    ("exercises", "weight", "complaint"), [((), 1, "which exercise"), (("one",), -1, "weigh 0 or more")]
)
def test_a_mark_that_cannot_be_is_refused(exercises: tuple[str, ...], weight: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        aspect("parity", *exercises, weight=weight)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy with two files of hidden tests."""
    project = copied(tmp_path_factory.mktemp("weights") / "root", suite=THREE_TESTS)
    (project.root / "tests/hidden/test_more.py").write_text(MORE_TESTS)
    return project


def test_hidden_tests_share_what_is_not_public_by_their_weights(project: Project) -> None:
    ran = run("-c", WORTH, cwd=project.root)
    found = {id: Fraction(points) for id, points in ran.document.items()}
    self_unit, cross_unit = 17 / Fraction("3.4"), 17 / Fraction("2.5")
    assert found["test_light[self_attention]"] == self_unit
    assert found["test_heavy[self_attention-0]"] == self_unit * 2 / 3
    assert found["test_in_another_file"] == self_unit * Fraction("0.4")
    assert found["test_light[cross_attention]"] == cross_unit / 2
    assert found["test_of_the_other_exercises[split_heads]"] == 6
    assert sum(found.values()) == 17 + 17 + 6 + 28


def test_running_some_of_the_tests_does_not_change_what_they_are_worth(project: Project) -> None:
    ran = run("-m", "pytest", "--candidate=solutions", f"{FILE}::test_light", cwd=project.root)
    said = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "Self-attention 5 / 5" in said
    assert "Cross-attention 3.4 / 3.4" in said
