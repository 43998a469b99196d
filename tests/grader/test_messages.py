"""Nothing a student is told gives away a hidden test, a solution or the numbers expected."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.hints import load_hints
from grader.release.leaks import find_leaks
from tests.diagnosis.findings import _CATALOGUE
from tests.grader.messages import MOST, ODD
from tests.grader.project import ROOT, run

HIDDEN, SUPPORT, SOLUTIONS = ROOT / "tests/hidden", ROOT / "tests/support", ROOT / "solutions"
OWN_LINE = re.compile(
    r"^Your code: (?P<file>[\w./]+), line (?P<line>\d+)(?: in [\w<>]+)?(?:: (?P<text>.*))?$", re.M
)
DECIMAL = r"-?\d+\.\d+(?:e[+-]?\d+)?"
LONGEST = 700  # characters, without the student's own line: a paragraph, where a page would hold a test
MOST_DECIMALS = 5  # one value that is off, what it must be, the size of the error, and a scale
SHORTEST = 16  # characters of a statement, squashed: anything shorter stands in any program


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a spread of wrong answers was told; see messages.py."""
    ran = run("-m", "tests.grader.messages", cwd=ROOT)
    assert ran.status == 0, ran.both
    return json.loads(ran.out)  # type: ignore[no-any-return]


def failures(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for result in told["results"]:
        yield from ((result["submission"], test) for test in result["tests"] if test["message"])


@pytest.fixture(scope="module")
def texts(told: dict[str, Any]) -> set[str]:
    """Every text of ours that reached a student, the student's own line taken out of it."""
    found = {OWN_LINE.sub("", test["message"]) for _, test in failures(told)}
    found |= {test["hint"] or "" for _, test in failures(told)} | set(told["hints"])
    found |= {result["status_message"] for result in told["results"]}
    return found | set(static_texts())


def static_texts() -> Iterator[str]:
    """What could be told and may not have been: sentences of hidden tests, diagnoses, hints."""
    for file in sorted(HIDDEN.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                yield (ast.get_docstring(node) or "").split("\n\n")[0]
                marks = [
                    call
                    for one in node.decorator_list
                    for call in ast.walk(one)
                    if isinstance(call, ast.keyword)
                ]
                yield from (ast.literal_eval(mark.value) for mark in marks if mark.arg == "hint")
    for sentence, question, _ in _CATALOGUE.values():
        yield from (sentence, question)


def written_hints() -> Iterator[str]:
    """What ``hint`` gives: written for a student, with examples worked in numbers."""
    for file in sorted((SOLUTIONS / "hints").glob("*.md")):
        yield from load_hints(file.parent, file.stem)


def test_the_sample_is_wide_enough_to_mean_something(told: dict[str, Any], texts: set[str]) -> None:
    assert told["faults"] == {}
    assert len(told["results"]) == MOST + len(ODD)
    assert {result["status"] for result in told["results"]} == {"graded"}
    named = {test["diagnosis"] for _, test in failures(told)} - {None}
    assert len(named) >= 25
    assert len(texts) > 500


# --- rules for a text of ours ---------------------------------------------------------------------

FORBIDDEN = re.compile(
    r"\bassert\b|\bdef test|\btests/|\btest_\w+\.py|::test_|solutions/|site-packages|grader/|Traceback"
    r"|\boracle\b|\bexpected ?=|\bexpected\(|WrongAnswer|\btensor\(\[|BEGIN SOLUTION|\bhidden test",
    re.IGNORECASE,
)
SEVERAL_VALUES = re.compile(rf"[\[(]\s*{DECIMAL}\s*,\s*{DECIMAL}|[\[(]\s*(?:-?\d+\s*,\s*){{6,}}")
RULES: dict[str, Callable[[str], bool]] = {
    "a word that belongs to our code": lambda text: FORBIDDEN.search(text) is not None,
    "a list of values": lambda text: SEVERAL_VALUES.search(text) is not None,
    "many values": lambda text: len(re.findall(DECIMAL, text)) > MOST_DECIMALS,
    "a page": lambda text: len(text) > LONGEST,
}


@pytest.mark.parametrize("rule", RULES)
def test_no_text_holds(texts: set[str], rule: str) -> None:
    assert [text for text in texts if RULES[rule](text)] == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("a word that belongs to our code", "E   assert found == expected"),
        ("a word that belongs to our code", "tests/hidden/test_parity.py:31: WrongAnswer"),
        ("a word that belongs to our code", "It differs from the oracle."),
        ("a list of values", "it must be [0.25, 0.75]"),
        ("a list of values", "it must be (1, 2, 3, 4, 5, 6, 7)"),
        ("many values", "0.1 0.2 0.3 0.4 0.5 0.6"),
        ("a page", "word " * 150),
    ],
)
def test_the_rules_find_what_they_look_for(rule: str, text: str) -> None:
    assert RULES[rule](text)


def test_no_text_holds_a_line_of_a_solution_or_names_a_hidden_test(texts: set[str]) -> None:
    named = {str(number): text.encode() for number, text in enumerate(sorted({*texts, *written_hints()}))}
    assert [f"{leak}: {named[leak.path].decode()}" for leak in find_leaks(named, SOLUTIONS, HIDDEN)] == []


def squashed(text: str) -> str:
    return "".join(text.split())


def statements(folder: Path) -> set[str]:
    """The statements of the tests, and the first lines of their compound ones, squashed."""
    found = set()
    for file in folder.glob("*.py"):
        source = file.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.stmt) and not (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            ):
                text = ast.get_source_segment(source, node) or ""
                found.add(squashed(text.split("\n")[0] if hasattr(node, "body") else text))
    return {statement for statement in found if len(statement) >= SHORTEST}


@pytest.mark.parametrize("folder", [HIDDEN, SUPPORT], ids=lambda folder: folder.name)
def test_no_text_holds_a_statement_of_a_test(texts: set[str], folder: Path) -> None:
    code = statements(folder)
    assert len(code) > 100
    everything = "\n".join(squashed(text) for text in {*texts, *written_hints()})
    assert [statement for statement in code if statement in everything] == []


# --- what is the student's own --------------------------------------------------------------------


def test_the_line_shown_is_the_students_own(told: dict[str, Any]) -> None:
    shown = 0
    for submission, test in failures(told):
        for match in OWN_LINE.finditer(test["message"]):
            line = told["sources"][submission].split("\n")[int(match["line"]) - 1]
            assert match["text"] is None or line.strip().startswith(match["text"]), test["message"]
            shown += match["text"] is not None
    assert shown > 100


@pytest.mark.parametrize(
    ("submission", "observed", "line"),
    [
        (
            "raises-own-words",
            "ValueError: my first line\n  my second line",  # set in, as lines of the grader's own are not
            "raise ValueError('my first line\\nmy second line')",
        ),
        ("raises-in-constructor", "KeyError: 'mine'", "raise KeyError('mine')"),
        ("raises-from-another", "RuntimeError: again mine", "raise RuntimeError('again mine') from error"),
    ],
)
def test_an_exception_is_passed_on_as_type_message_and_own_line(
    told: dict[str, Any], submission: str, observed: str, line: str
) -> None:
    said = {
        test["message"] for who, test in failures(told) if who == submission and test["status"] == "failed"
    }
    kept = {
        message.split("\n", 1)[1].split("\nIt looks like: ")[0] for message in said if "Your code" in message
    }
    own = [message for message in kept if "stopped with" in message]
    assert own
    for message in own:
        head, _, place = message.partition("\nYour code: ")
        assert head == f"Observed: Your code stopped with {observed}"
        assert place.startswith("self_attention.py, line ")
        assert place.endswith(f": {line}")
