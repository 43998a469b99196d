"""Intake: what counts as a submission, and which of its files holds which name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import IntakeError, Submission, read_submissions

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = load_assignment(ROOT)
CORE = {name: exercise.file for exercise in ASSIGNMENT.core for name in exercise.defines}

SELF = "class SelfAttention:\n    pass\n"
CROSS = "class CrossAttention:\n    pass\n"
HEADS = "class MultiHeadAttention:\n    pass\n"
FILE = "self_attention.py"
CLASS = [f"{name}/{FILE}" for name in ("alice", "bob", "carol")]
ALL = SELF + CROSS + HEADS


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write ``files`` below ``folder``; a name that ends in a slash is an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def ids(path: Path) -> list[str]:
    return [submission.id for submission in read_submissions(path, ASSIGNMENT)]


def only(path: Path) -> Submission:
    (submission,) = read_submissions(path, ASSIGNMENT)
    return submission


def test_a_folder_with_exercise_files_is_one_submission(tmp_path: Path) -> None:
    alice = write(
        tmp_path / "alice",
        {
            "self_attention.py": SELF,
            "cross_attention.py": CROSS,
            "multi_head_attention.py": HEADS,
            "README.md": "notes",
            "hints/self_attention.md": "a hint",
        },
    )
    submission = only(alice)
    assert submission.id == "alice"
    assert submission.path == alice
    assert submission.homes == CORE
    assert submission.files["self_attention.py"] == SELF.encode()
    assert (submission.problems, submission.unreadable) == ({}, None)


@pytest.mark.parametrize("folder", ["solutions", "exercises"])
def test_the_folders_of_the_repository_are_one_submission_each(folder: str) -> None:
    if not (ROOT / folder / "self_attention.py").exists():
        pytest.skip(f"{folder}/ has not been generated")
    submission = only(ROOT / folder)
    assert (submission.id, submission.homes) == (folder, ASSIGNMENT.homes)


def test_a_folder_of_folders_files_and_archives_is_a_class(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "carol/self_attention.py": SELF,
            "alice.py": ALL,
            "bob.ipynb": "{}",
            "dave.zip": b"PK",
            "empty/": "",
            "grades.csv": "x",
            "metadata.yml": "x",
            "notes.txt": "x",
            ".git/hook.py": SELF,
            "__pycache__/x.py": SELF,
            "__MACOSX/carol/self_attention.py": SELF,
        },
    )
    assert ids(tmp_path) == ["alice.py", "bob.ipynb", "carol", "dave.zip", "empty"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"answer.py": ALL}, ["class"]),
        ({"one.py": SELF, "two.py": CROSS, "helper.py": "x = 1"}, ["class"]),
        ({"alice.py": SELF, "bob.py": SELF}, ["alice.py", "bob.py"]),
        ({"alice.py": SELF, "bob.py": "class Self("}, ["alice.py", "bob.py"]),
        ({"alice.py": SELF, "bob/work.py": CROSS}, ["alice.py", "bob"]),
        ({"alice.py": SELF, "bob.zip": b""}, ["alice.py", "bob.zip"]),
        ({"Self-Attention (1).py": SELF, "old/x.py": SELF}, ["class"]),
        (
            {"exercises/self_attention.py": SELF, "grader/cli.py": "x = 1", "conftest.py": ""},
            ["class"],
        ),
        ({"alice/deeper/self_attention.py": SELF}, ["alice"]),
        ({"self_attention.py": SELF, **dict.fromkeys(CLASS[:2], SELF)}, ["class"]),
        ({"self_attention.py": SELF, **dict.fromkeys(CLASS, SELF)}, ["alice", "bob", "carol", FILE]),
        ({"exercises/" + FILE: SELF, **dict.fromkeys(CLASS, SELF)}, ["alice", "bob", "carol", "exercises"]),
        ({"alice.py": SELF, "bob.py": SELF, "conftest.py": "", "__init__.py": ""}, ["alice.py", "bob.py"]),
    ],
)
def test_one_submission_and_a_class_are_told_apart(
    tmp_path: Path, files: dict[str, str | bytes], expected: list[str]
) -> None:
    assert ids(write(tmp_path / "class", files)) == expected


@pytest.mark.parametrize("name", ["work.py", "work.PY", "work.py.txt"])
def test_a_file_is_a_submission(tmp_path: Path, name: str) -> None:
    submission = only(write(tmp_path, {name: ALL}) / name)
    assert submission.id == name
    assert submission.homes == dict.fromkeys(CORE, "work.py")
    assert submission.originals == {"work.py": name}


def test_ids_are_sorted_and_name_a_dot_path_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path / "alice", {"self_attention.py": SELF}))
    assert ids(Path(".")) == ["alice"]
    assert ids(Path("../alice")) == ["alice"]


@pytest.mark.parametrize("files", [{}, {"readme.txt": "hello"}, {".hidden/self_attention.py": SELF}])
def test_a_folder_with_nothing_to_grade_is_bad_usage(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    with pytest.raises(IntakeError, match=r"holds nothing to grade: .* Check that"):
        read_submissions(write(tmp_path / "class", files), ASSIGNMENT)


def test_a_path_that_does_not_exist_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(IntakeError, match=r"cannot be graded: No such file .* Check the path"):
        read_submissions(tmp_path / "nowhere", ASSIGNMENT)


def test_a_file_of_another_kind_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(IntakeError, match=r"neither a folder nor a \.py, \.ipynb or \.zip"):
        read_submissions(write(tmp_path, {"essay.docx": "x"}) / "essay.docx", ASSIGNMENT)


def test_an_empty_folder_in_a_class_is_unreadable_and_says_so(tmp_path: Path) -> None:
    alice, bob = read_submissions(write(tmp_path, {"alice/self_attention.py": SELF, "bob/": ""}), ASSIGNMENT)
    assert alice.unreadable is None
    assert bob.unreadable is not None
    assert "bob holds no code" in bob.unreadable
    assert bob.problems.keys() == ASSIGNMENT.homes.keys()


def test_archives_of_other_kinds_are_not_lost_silently(tmp_path: Path) -> None:
    _, bob = read_submissions(write(tmp_path, {"alice/self_attention.py": SELF, "bob.rar": "x"}), ASSIGNMENT)
    assert "Hand in a .zip" in (bob.unreadable or "")


@pytest.mark.parametrize(
    "source",
    [
        "if True:\n    class SelfAttention: pass\n",
        "try:\n    import torch\nexcept ImportError:\n    pass\nelse:\n    class SelfAttention: pass\n",
        "try:\n    pass\nfinally:\n    class SelfAttention: pass\n",
        "for _ in range(1):\n    class SelfAttention: pass\n",
        "match 1:\n    case 1:\n        class SelfAttention: pass\n",
        "class Mine: pass\n(SelfAttention := Mine)\n",
        "class Mine: pass\nSelfAttention = Mine\n",
        "SelfAttention: type = object\n",
        "def SelfAttention(d_model): return None\n",
        "A, (SelfAttention, B) = 1, (2, 3)\n",
    ],
)
def test_a_name_is_found_however_it_is_defined(tmp_path: Path, source: str) -> None:
    assert only(write(tmp_path / "alice", {"mine.py": source})).homes == {"SelfAttention": "mine.py"}


@pytest.mark.parametrize(
    "source",
    [
        "from elsewhere import SelfAttention\n",
        "def make():\n    class SelfAttention: pass\n",
        "if __name__ == '__main__':\n    class SelfAttention: pass\n",
        "text = 'class SelfAttention: pass'\n",
    ],
)
def test_a_name_that_importing_would_not_define_here_is_not_found(tmp_path: Path, source: str) -> None:
    submission = only(write(tmp_path / "alice", {"self_attention.py": source, "cross.py": CROSS}))
    assert submission.homes == {"CrossAttention": "cross.py"}
    assert "SelfAttention was not handed in: no file defines it." in submission.problems["SelfAttention"]
    assert "Define it in self_attention.py" in submission.problems["SelfAttention"]


PATTERNS = "def pattern_scores(w): pass\n\ndef dominant_pattern(w): pass\n"


@pytest.mark.parametrize("extra", [{}, {"head_patterns.py": PATTERNS}])
def test_a_bonus_exercise_may_be_left_out_without_a_word(tmp_path: Path, extra: dict[str, str]) -> None:
    submission = only(write(tmp_path / "alice", {"all.py": ALL, **extra}))
    assert submission.problems == {}
    found = {"pattern_scores", "dominant_pattern"} if extra else set()
    assert submission.homes.keys() == {"SelfAttention", "CrossAttention", "MultiHeadAttention"} | found


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def pattern_scores(w): pass\n", "dominant_pattern was not handed in"),
        ("def patternScores(w): pass\n", "patternScores, which is spelled differently from pattern_scores"),
        ("def pattern_scores(w:\n", "head_patterns.py is not valid Python"),
    ],
    ids=["half of it", "misspelt", "broken"],
)
def test_a_bonus_exercise_that_was_begun_is_spoken_of(tmp_path: Path, source: str, words: str) -> None:
    submission = only(write(tmp_path / "alice", {"all.py": ALL, "head_patterns.py": source}))
    assert words in " ".join(submission.problems.values())


def test_nothing_at_all_speaks_of_the_core_only(tmp_path: Path) -> None:
    reason = only(write(tmp_path / "alice", {"notes.py": "x = 1\n"})).unreadable
    assert reason is not None
    assert "MultiHeadAttention" in reason
    assert "pattern_scores" not in reason


def test_two_files_with_the_same_class_are_named(tmp_path: Path) -> None:
    other = SELF.replace("pass", "x = 1")
    submission = only(
        write(tmp_path / "a", {"self_attention.py": SELF, "old/draft.py": other, "c.py": CROSS})
    )
    assert submission.homes == {"CrossAttention": "c.py"}
    assert "old/draft.py and self_attention.py" in submission.problems["SelfAttention"]
    assert submission.files.keys() == {"c.py"}


def test_two_copies_of_one_file_are_no_conflict(tmp_path: Path) -> None:
    copies: dict[str, str | bytes] = {
        "a.py": SELF.replace("\n", "\r\n"),
        "week1/self_attention.py": b"\xef\xbb\xbf" + SELF.encode(),
    }
    submission = only(write(tmp_path / "a", copies | {"cross_attention.py": CROSS}))
    assert submission.originals["self_attention.py"] == "week1/self_attention.py"
    assert "SelfAttention" not in submission.problems


def test_a_broken_second_file_with_the_same_class_is_a_conflict_too(tmp_path: Path) -> None:
    files = {"self_attention.py": SELF + "(", "backup/draft.py": SELF, "cross_attention.py": CROSS}
    submission = only(write(tmp_path / "alice", files))
    assert "backup/draft.py and self_attention.py" in submission.problems["SelfAttention"]


def test_a_class_with_nearly_the_right_name_is_pointed_out(tmp_path: Path) -> None:
    files = {"self_attention.py": "class Self_attention: pass\n", "cross_attention.py": CROSS}
    problem = only(write(tmp_path / "alice", files)).problems["SelfAttention"]
    assert "self_attention.py defines Self_attention, which is spelled differently" in problem


def test_when_nothing_can_be_examined_every_reason_is_told_once(tmp_path: Path) -> None:
    files = {"self_attention.py": "class SelfAttention(\n", "cross_attention.py": ""}
    submission = only(write(tmp_path / "alice", files))
    assert submission.unreadable is not None
    assert submission.unreadable.count("self_attention.py is not valid Python") == 1
    assert "cross_attention.py is empty" in submission.unreadable
    assert "MultiHeadAttention was not handed in" in submission.unreadable
    assert submission.problems.keys() == CORE.keys()
    assert not submission.files


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("mine.py", "mine.py"),
        ("my answer (2).py", "self_attention.py"),
        ("-rf.py", "self_attention.py"),
        ("übung.py", "self_attention.py"),
        ("new\nline.py", "self_attention.py"),
        ("math.py", "self_attention.py"),
        ("torch.py", "self_attention.py"),
        ("grader.py", "self_attention.py"),
        ("class.py", "self_attention.py"),
        ("package/__init__.py", "self_attention.py"),
    ],
)
def test_answers_are_stored_under_names_that_can_be_imported(tmp_path: Path, name: str, key: str) -> None:
    submission = only(write(tmp_path / "alice", {name: SELF, "cross_attention.py": CROSS}))
    assert submission.homes["SelfAttention"] == key
    assert submission.originals[key] == name.replace("\n", "\\n")


def test_a_stored_name_is_not_given_twice(tmp_path: Path) -> None:
    files = {"self_attention.py": CROSS, "my answer.py": SELF}
    submission = only(write(tmp_path / "alice", files))
    assert submission.homes == {"SelfAttention": "self_attention_2.py", "CrossAttention": "self_attention.py"}


def test_a_file_name_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, {"alice/self_attention.py": SELF, "bob/self_attention.py": SELF})
    (tmp_path / "bob").rename(tmp_path / "bob\udcff")
    assert ids(tmp_path) == ["alice", "bob\\xff"]


def test_the_hash_follows_the_code_and_not_where_it_lies(tmp_path: Path) -> None:
    one = only(write(tmp_path / "one", {"self_attention.py": SELF}))
    same = only(write(tmp_path / "two", {"self_attention.py": SELF, "notes.md": "x"}))
    other = only(write(tmp_path / "three", {"self_attention.py": SELF + "x = 1\n"}))
    assert one.source == same.source != other.source


def test_reading_runs_no_code_and_loads_neither_torch_nor_nbformat(tmp_path: Path) -> None:
    write(tmp_path / "alice", {"self_attention.py": f"open({str(tmp_path / 'ran')!r}, 'w')\n" + SELF})
    program = (
        "import sys, pathlib\n"
        "from grader.assignment import load_assignment\n"
        "from grader.submissions import read_submissions\n"
        f"read_submissions(pathlib.Path({str(tmp_path)!r}), load_assignment(pathlib.Path('.')))\n"
        "sys.exit(bool({'torch', 'nbformat', 'self_attention'} & sys.modules.keys()))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0
    assert not (tmp_path / "ran").exists()
