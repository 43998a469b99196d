"""Hints: read strictly, given one at a time, remembered between runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.hints import NO_MORE, STATE, HintError, HintState, load_hints

THREE = "# Title\n\n## Hint 1\n\nLook.\n\n## Hint 2\n\nThink:\n\n```\n## Hint 9\n```\n\n## Hint 3\nWrite.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "exercises" / "hints"
    folder.mkdir(parents=True)
    for name in ("alpha", "beta"):
        (folder / f"{name}.md").write_text(THREE)
    return tmp_path


def test_hints_are_read_in_order(root: Path) -> None:
    hints = load_hints(root / "exercises/hints", "alpha")
    assert hints == ["Look.", "Think:\n\n```\n## Hint 9\n```", "Write."]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("## Hint 1\na\n## Hint 2\nb\n", "2 hints.*at least 3"),
        ("no headings\n", "0 hints"),
        ("## Hint 1\na\n## Hint 3\nb\n## Hint 2\nc\n", ":3: .*'## Hint 2' there"),
        ("## Hint 2\na\n", "'## Hint 1' there"),
        ("## Hint 1\na\n## hint 2\nb\n", ":3: "),
        ("## Hint 1\na\n### Hint 2\nb\n", ":3: "),
        ("## Hint 1\na\n## Hint two\nb\n", ":3: "),
        ("## Hint 1\na\n## Hint 2\n\n## Hint 3\nc\n", "hint 2 is empty"),
    ],
)
def test_malformed_hints_are_refused(root: Path, text: str, why: str) -> None:
    (root / "exercises/hints/alpha.md").write_text(text)
    with pytest.raises(HintError, match=why):
        load_hints(root / "exercises/hints", "alpha")


@pytest.mark.parametrize("exercise", ["gamma", "../hints/alpha", ""])
def test_an_unknown_exercise_is_told_which_there_are(root: Path, exercise: str) -> None:
    with pytest.raises(HintError, match="Ask for one of: alpha, beta"):
        load_hints(root / "exercises/hints", exercise)


def test_hints_that_are_no_text_are_refused(root: Path) -> None:
    (root / "exercises/hints/alpha.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(HintError, match="cannot be read"):
        load_hints(root / "exercises/hints", "alpha")


def test_each_time_one_more_and_at_the_end_the_last_again(root: Path) -> None:
    given = [HintState(root).next_hint("alpha") for _ in range(5)]
    assert [hint.number for hint in given] == [1, 2, 3, 3, 3]
    assert {hint.total for hint in given} == {3}
    assert given[0].text == "Look."
    assert [NO_MORE in hint.text for hint in given] == [False, False, False, True, True]
    assert given[-1].text.startswith("Write.")


def test_exercises_are_counted_apart(root: Path) -> None:
    state = HintState(root)
    state.next_hint("alpha")
    assert state.next_hint("alpha").number == 2
    assert state.next_hint("beta").number == 1


@pytest.mark.parametrize(("exercise", "beta"), [("alpha", 2), (None, 1)])
def test_reset_starts_over_with_one_exercise_or_all(root: Path, exercise: str | None, beta: int) -> None:
    state = HintState(root)
    for name in ("alpha", "beta"):
        state.next_hint(name)
    state.reset(exercise)
    assert state.next_hint("alpha").number == 1
    assert state.next_hint("beta").number == beta


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"\xff", b"[1]", b'{"alpha": "2"}', b'{"alpha": -1}', b'{"alpha": true}']
)
def test_a_damaged_state_counts_as_empty(root: Path, damage: bytes) -> None:
    (root / STATE).parent.mkdir()
    (root / STATE).write_bytes(damage)
    state = HintState(root)
    assert [state.next_hint("alpha").number for _ in range(2)] == [1, 2]


def test_a_state_beyond_the_hints_gives_the_last(root: Path) -> None:
    (root / STATE).parent.mkdir()
    (root / STATE).write_text('{"alpha": 99}')
    hint = HintState(root).next_hint("alpha")
    assert (hint.number, NO_MORE in hint.text) == (3, True)


def test_nothing_but_the_state_is_left_behind(root: Path) -> None:
    HintState(root).next_hint("alpha")
    assert [path.name for path in (root / STATE).parent.iterdir()] == [STATE.name]


def test_a_state_that_cannot_be_kept_is_reported(root: Path) -> None:
    (root / STATE.parent).write_text("a file where the folder should be")
    with pytest.raises(HintError, match="cannot be written"):
        HintState(root).next_hint("alpha")
