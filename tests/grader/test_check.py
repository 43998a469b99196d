"""``check``, ``hint`` and ``doctor``: what a student reads, and what a program would."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.grader.project import ROOT, Project, Ran, copied, hand_in, replace

SELF = (ROOT / "solutions/self_attention.py").read_text()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copied(tmp_path_factory.mktemp("check") / "root")


def check(project: Project, folder: Path, *options: str, stdin: str = "") -> Ran:
    """``check`` on the answers in ``folder``."""
    shutil.copytree(folder, project.root / "exercises", dirs_exist_ok=True)
    return project.run("check", "--seed", "4", *options, stdin=stdin)


@pytest.fixture(scope="module")
def untouched(project: Project) -> Ran:
    return check(project, ROOT / "exercises")


def test_untouched_stubs_have_no_points(untouched: Ran) -> None:
    assert untouched.status == 0
    rows = [line.rsplit(maxsplit=3) for line in untouched.out.splitlines()[:5]]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("Self-attention", "0", "8"),
        ("Cross-attention", "0", "8"),
        ("Splitting heads", "0", "4"),
        ("Multi-head attention", "0", "12"),
        ("Total", "0", "32"),
    ]
    assert "32 of 100 points" in untouched.out


def test_only_the_first_failure_is_explained_with_the_next_step(untouched: Ran) -> None:
    assert untouched.out.count("Observed:") == untouched.out.count("Think about:") == 1
    assert "NotImplementedError: Create the projections W_Q, W_K and W_V." in untouched.out
    command = "pytest -k 'test_output_and_weights_have_the_promised_shapes and self_attention'\n"
    assert f"Next: Mend this one first, then run it alone: {command}" in untouched.out
    assert untouched.out.endswith("Stuck? python -m grader hint self_attention\n")


@pytest.fixture(scope="module")
def unscaled(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = hand_in(
        tmp_path_factory.mktemp("unscaled") / "answers",
        self_attention=SELF.replace(" / math.sqrt(self.d_k)", ""),
        multi_head_attention=None,
    )
    return check(project, folder, "self_attention")


def test_a_wrong_answer_is_told_in_words(unscaled: Ran) -> None:
    said = " ".join(unscaled.out.split())
    assert "First failure, in self_attention (parity)" in said
    assert "With known weights and no mask, output and attention weights are what the formula gives." in said
    assert "Observed: the attention weights[0, 0, 0] is 0." in said
    assert "the largest error is" in said
    assert "Your code: self_attention.py, line " in said
    assert "Think about: Compute the scores of two tokens by hand" in said


def test_one_exercise_alone_is_checked_and_counted(unscaled: Ran) -> None:
    assert unscaled.out.splitlines()[0].split() == ["Self-attention", "5", "/", "8"]
    assert unscaled.out.splitlines()[1].split() == ["Total", "5", "/", "8"]
    assert "Cross-attention" not in unscaled.out


def test_nothing_of_ours_shows(untouched: Ran, unscaled: Ran) -> None:
    for ran in (untouched, unscaled):
        assert not [word for word in ("Traceback", "def test_", "grader/", "tests/") if word in ran.both]


def test_all_solved_says_that_this_is_not_all(project: Project, tmp_path: Path) -> None:
    ran = check(project, hand_in(tmp_path / "answers"))
    assert "Total                     32 / 32" in ran.out
    assert "All public tests pass. They are not everything" in ran.out


def test_json_holds_the_same_whatever_the_code_prints(project: Project, tmp_path: Path) -> None:
    noisy = hand_in(tmp_path / "answers", self_attention="print('{hello')\n" + SELF.replace("math.sqrt", ""))
    document = check(project, noisy, "--json").document
    assert {one["name"]: one["score"] for one in document["exercises"]} == {
        "self_attention": 5,
        "cross_attention": 8,
        "split_heads": 4,
        "multi_head_attention": 12,
    }
    assert document["first_failure"].endswith("follow_the_formula[self_attention]")
    assert (document["score"], document["max_score"], document["seed"]) == (29, 32, 4)
    assert [test["status"] for test in document["tests"]].count("failed") == 1


def test_breakpoint_stops_there_and_leaving_it_ends_the_check(project: Project, tmp_path: Path) -> None:
    folder = hand_in(tmp_path / "answers")
    replace(folder / "cross_attention.py", "        q = self", "        breakpoint()\n        q = self")
    ran = check(project, folder, "cross_attention", stdin="p query_input.shape\nq\n")
    assert "(Pdb) torch.Size([2, 5, 6])" in ran.out
    assert "Stopped before the end" in ran.err
    assert "Traceback" not in ran.both


@pytest.mark.parametrize(
    "endless",
    ["while True:\n            pass", "while True:\n            try: 1\n            except Exception: 2"],
    ids=["a loop", "a loop that swallows exceptions"],
)
def test_an_endless_loop_is_stopped_and_told_with_its_line(
    project: Project, tmp_path: Path, endless: str
) -> None:
    folder = hand_in(tmp_path / "answers")
    replace(folder / "cross_attention.py", "        q = self", f"        {endless}\n        q = self")
    ran = check(project, folder, "cross_attention")
    assert ran.status == 0
    said = " ".join(ran.out.split())
    assert "Observed: No answer within 3 s, so the call was stopped. Is there a loop that never ends" in said
    assert re.search(r"Your code: cross_attention\.py, line \d+ in forward: ", said)
    assert "Cross-attention 0 / 8" in said


def test_a_loop_as_the_file_is_imported_is_stopped_too(project: Project, tmp_path: Path) -> None:
    ran = check(
        project, hand_in(tmp_path / "answers", self_attention="while True:\n    pass\n"), "self_attention"
    )
    assert "No answer within 3 s" in ran.out
    assert "Your code: self_attention.py, line " in ran.out


def test_at_a_breakpoint_there_is_no_hurry(project: Project, tmp_path: Path) -> None:
    folder = hand_in(tmp_path / "answers")
    replace(folder / "cross_attention.py", "        q = self", "        breakpoint()\n        q = self")
    slowly = "p __import__('time').sleep(4.5)\np mask is None\nq\n"
    ran = check(project, folder, "cross_attention", stdin=slowly)
    assert "(Pdb) None\n(Pdb) True\n" in ran.out
    assert "Stopped before the end" in ran.err


def test_an_unknown_exercise_is_refused_with_those_there_are(project: Project) -> None:
    ran = project.run("check", "selfattention")
    assert ran.status == 2
    assert "no exercise called 'selfattention'" in ran.err
    assert "self_attention, cross_attention, split_heads, multi_head_attention" in ran.err


def test_hints_come_one_at_a_time_and_can_start_over(project: Project) -> None:
    asked = [project.run("hint", "split_heads") for _ in range(3)]
    assert [ran.out.splitlines()[0] for ran in asked] == [
        f"Hint {number} of 5 for split_heads" for number in (1, 2, 3)
    ]
    assert len({ran.out for ran in asked}) == 3
    again = project.run("hint", "split_heads", "--from-the-start")
    assert again.out == asked[0].out


def test_a_hint_for_an_unknown_exercise_is_refused(project: Project) -> None:
    ran = project.run("hint", "attention")
    assert ran.status == 2
    assert "split_heads" in ran.err


def test_doctor_says_what_the_machine_can_do(project: Project) -> None:
    facts = dict(line.split("  ", 1) for line in project.run("doctor").out.splitlines())
    assert list(facts) == [
        "python",
        "torch",
        "system",
        "accelerator",
        "isolation level",
        "levels not offered",
        "start of workers",
    ]
    assert all(facts.values())
