"""A small class of which a third is hostile, as the benchmark measures it."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest

from tests.grader.project import ROOT, Ran, run

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="workers start warm on Linux only"),
    pytest.mark.skipif(
        importlib.util.find_spec("grader.redteam.corpus") is None, reason="there is no attack corpus"
    ),
]


@pytest.fixture(scope="module")
def measured() -> Ran:
    return run("benchmarks/hostile_class.py", "--submissions", "18", "--seed", "1", cwd=ROOT)


@pytest.mark.parametrize(
    "line",
    [
        "12 of 12 others are judged as without them",
        "0 could not be graded",
        r"grown since the first tenth: examiner [\d.-]+ MiB",
        r"grown since the first tenth: host [\d.-]+ MiB",
        "0 files or processes left behind",
    ],
)
def test_a_hostile_third_changes_nothing_for_the_others(measured: Ran, line: str) -> None:
    assert re.search(rf"^  {line}: holds$", measured.out, re.MULTILINE), measured.both


def test_nothing_else_is_wrong(measured: Ran) -> None:
    assert measured.status == 0, measured.both
