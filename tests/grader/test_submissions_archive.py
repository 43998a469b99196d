"""Intake of zip archives: read in memory, and nothing hostile gets anywhere."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.submissions import Submission, read_submissions

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
SELF = "class SelfAttention:\n    pass\n"
MIB = 1024 * 1024


def packed(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def read(folder: Path, content: bytes) -> Submission:
    (folder / "alice.zip").write_bytes(content)
    (submission,) = read_submissions(folder / "alice.zip", ASSIGNMENT)
    assert [path.name for path in folder.iterdir()] == ["alice.zip"]  # nothing was unpacked to disk
    return submission


@pytest.mark.parametrize("prefix", ["", "alice/", "alice/week 1/", "./"])
def test_a_folder_inside_an_archive_is_looked_into(tmp_path: Path, prefix: str) -> None:
    files = {f"{prefix}self_attention.py": f"import helper\n{SELF}", f"{prefix}helper.py": "", "x.pt": "data"}
    submission = read(tmp_path, packed(files))
    assert submission.id == "alice.zip"
    assert submission.homes == {"SelfAttention": "self_attention.py"}
    assert submission.files.keys() == {"self_attention.py", "helper.py"}
    assert submission.originals["self_attention.py"] == f"{prefix}self_attention.py".removeprefix("./")


def test_what_is_not_the_students_work_is_skipped(tmp_path: Path) -> None:
    folders = ["__MACOSX/", "a/.git/", "venv/lib/site-packages/", "a/__pycache__/", "1/2/3/4/5/6/7/"]
    copies: dict[str, str | bytes] = {f"{folder}self_attention.py": "x = 1\n" + SELF for folder in folders}
    assert read(tmp_path, packed(copies | {"self_attention.py": SELF})).files == {
        "self_attention.py": SELF.encode()
    }


@pytest.mark.parametrize(
    "name", ["../self_attention.py", "a/../../x", "/etc/x.py", "C:/x.py", "c:x.py", "a\\b.py", "..\\x.txt"]
)
def test_a_name_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    submission = read(tmp_path, packed({"self_attention.py": SELF, name: ""}))
    assert "alice.zip holds a file " in (submission.unreadable or "")
    assert "Zip the plain files again" in (submission.unreadable or "")
    assert submission.problems.keys() == ASSIGNMENT.homes.keys()
    assert not submission.files


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_link_or_device_is_refused(tmp_path: Path, kind: int) -> None:
    buffer = io.BytesIO()
    member = zipfile.ZipInfo("self_attention.py")
    member.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, "/etc/passwd")
    assert "holds a link or a device, self_attention.py" in (
        read(tmp_path, buffer.getvalue()).unreadable or ""
    )


def encrypted(content: bytes) -> bytes:
    """The same archive with the flag that says its members are encrypted."""
    at = content.index(b"PK\x01\x02") + 8
    return content[:at] + struct.pack("<H", 1) + content[at + 2 :]


def bomb(_: bytes) -> bytes:
    return packed({"self_attention.py": b"#" * 8 * MIB})


def many(_: bytes) -> bytes:
    return packed({f"{number}.txt": "" for number in range(2001)})


def large(_: bytes) -> bytes:
    noise = os.urandom(MIB // 128) * 127
    return packed({f"{number}.py": noise for number in range(36)})


def twice(content: bytes) -> bytes:
    return packed({"self_attention.py": SELF, "self_attention_py": "x"}).replace(
        b"attention_py", b"attention.py"
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (encrypted, "is encrypted: self_attention.py needs a password. Zip the files again without one"),
        (bomb, "unpacks to more than 200 times its size"),
        (many, "holds 2001 files, more than the 2000 that are read"),
        (large, "unpacks to more than 32 MiB"),
        (twice, "holds two different files called self_attention.py"),
        (lambda content: content[:-30], "is not a zip archive that can be read"),
        (
            lambda content: content.replace(b"class", b"CLASS"),
            "is not a zip archive that can be read: Bad CRC",
        ),
        (lambda _: b"", "is not a zip archive that can be read"),
        (lambda _: b"Rar!", "is not a zip archive that can be read"),
        (lambda _: packed({"x.py": SELF}, zipfile.ZIP_LZMA), "is compressed in an unusual way at x.py"),
        (lambda _: packed({"readme.txt": ""}), "alice.zip holds no code"),
        (lambda _: packed({"inner.zip": packed({"self_attention.py": SELF})}), "inner.zip was not opened"),
    ],
)
def test_an_archive_that_is_not_read_says_why(
    tmp_path: Path, spoil: Callable[[bytes], bytes], words: str
) -> None:
    content = packed({"self_attention.py": SELF}, zipfile.ZIP_STORED)
    submission = read(tmp_path, spoil(content))
    assert (submission.unreadable or "").startswith("alice.zip ")
    assert words in (submission.unreadable or "")
    assert not submission.files


def test_a_large_file_in_an_archive_is_a_problem_of_its_own(tmp_path: Path) -> None:
    noise = "#" + os.urandom(MIB).hex()
    files: dict[str, str | bytes] = {
        "self_attention.py": noise,
        "cross_attention.py": "class CrossAttention: pass",
    }
    submission = read(tmp_path, packed(files))
    assert "self_attention.py is larger than 1 MiB" in submission.problems["SelfAttention"]
    assert submission.homes == {"CrossAttention": "cross_attention.py"}


def test_data_in_an_archive_does_not_count(tmp_path: Path) -> None:
    weights = os.urandom(MIB) * 20
    content = packed({"self_attention.py": SELF, "weights.pt": weights}, zipfile.ZIP_STORED)
    assert read(tmp_path, content).unreadable is None
