"""Zip archives, read in memory and never unpacked: every member is a stranger's."""

from __future__ import annotations

import io
import re
import stat
import zipfile
from pathlib import Path

from grader.assignment import Assignment
from grader.submissions.disk import UnreadableError, read_regular, too_large
from grader.submissions.gathered import MAX_DEPTH, MAX_FILES, MIB, Entry, Gathered
from grader.submissions.names import is_code, is_skipped_folder, shown, size_limit

ORDER = 100
SUFFIX = ".zip"

_ARCHIVE_BYTES = 32 * MIB  # of the .zip itself
_UNPACKED_BYTES = 32 * MIB  # of the members that are read, counted while reading
_MAX_RATIO = 200  # text shrinks 3 to 10 times; deflate cannot do better than about 1000
_RATIO_FROM_BYTES = 1 * MIB
_LONGEST_NAME = 255  # characters of one part of a path: no disk takes more
# bz2 and lzma are left out: zipfile unpacks them a whole block at a time, whatever it was asked for.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1 | 0x40


def entries(path: Path, name: str, assignment: Assignment) -> list[Entry] | None:
    """The one submission that the archive ``path`` is; None if it is no archive."""
    if path.is_dir() or not name.lower().endswith(SUFFIX):
        return None
    return [entry(path, name)]


def entry(path: Path, name: str) -> Entry:
    return Entry(name, path, lambda: gather(path, name))


def gather(path: Path, name: str) -> Gathered:
    """Read the code files in an archive. An archive that is damaged or hostile is told, never raised."""
    try:
        content = read_regular(path, _ARCHIVE_BYTES)
    except UnreadableError as error:
        return Gathered(fatal=f"{shown(name)} {error}")
    try:
        return read_archive(content)
    except UnreadableError as error:
        return Gathered(fatal=f"{shown(name)} {error}")
    except Exception as error:  # zipfile raises a dozen unrelated kinds on damaged input
        reason = shown(str(error)) or type(error).__name__
        return Gathered(
            fatal=f"{shown(name)} is not a zip archive that can be read: {reason}. Make it again."
        )


def read_archive(content: bytes) -> Gathered:
    """The code files in the bytes of a zip archive.

    Raises UnreadableError if a member has no business in a submission, or what zipfile raises on
    damaged input.
    """
    gathered = Gathered()
    total = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) > MAX_FILES:
            raise UnreadableError(
                f"holds {len(members)} files, more than the {MAX_FILES} that are read. "
                "Zip only your exercise files, without virtual environment or data."
            )
        for member in members:
            _refuse_hostile(member)
        for member in members:
            name = "/".join(part for part in member.filename.split("/") if part not in ("", "."))
            if member.is_dir() or _is_elsewhere(name, gathered):
                continue
            unpacked = _unpack(archive, member)
            total += len(unpacked)
            if total > _UNPACKED_BYTES:
                raise UnreadableError(
                    f"unpacks to more than {_UNPACKED_BYTES // MIB} MiB. Zip only your exercise files."
                )
            if len(unpacked) > size_limit(name):
                gathered.refused[name] = too_large(size_limit(name))
            elif gathered.files.setdefault(name, unpacked) != unpacked:
                raise UnreadableError(
                    f"holds two different files called {shown(name)}. Zip your files again."
                )
    return gathered


def _is_elsewhere(name: str, gathered: Gathered) -> bool:
    """Is this member none of the code files that are read?"""
    *folders, last = name.split("/")
    if any(is_skipped_folder(folder) for folder in folders):
        return True
    if last.lower().endswith(SUFFIX):
        gathered.remarks.append(f"{shown(name)} was not opened: an archive inside an archive is not read.")
    if not is_code(last):
        return True
    if len(folders) > MAX_DEPTH:
        gathered.remarks.append(f"Folders more than {MAX_DEPTH} deep were not looked into.")
        return True
    return False


def _refuse_hostile(member: zipfile.ZipInfo) -> None:
    # orig_filename is what the archive says; filename has been cleaned of what we look for.
    name, shown_name = member.orig_filename, shown(member.orig_filename)
    again = "Zip the plain files again, with the means of your own system."
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or "\\" in name or "\0" in name:
        raise UnreadableError(f"holds a file whose name is not a plain relative path: {shown_name}. {again}")
    if ".." in name.split("/"):
        raise UnreadableError(f"holds a file that would land outside its folder: {shown_name}. {again}")
    if any(len(part) > _LONGEST_NAME for part in name.split("/")):
        raise UnreadableError(
            f"holds a file with a name that is longer than a disk takes: {shown_name}. {again}"
        )
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UnreadableError(f"holds a link or a device, {shown_name}, where a file should be. {again}")
    if member.flag_bits & _ENCRYPTED:
        raise UnreadableError(
            f"is encrypted: {shown_name} needs a password. Zip the files again without one."
        )
    if member.file_size > _RATIO_FROM_BYTES and member.file_size > _MAX_RATIO * member.compress_size:
        raise UnreadableError(
            f"unpacks to more than {_MAX_RATIO} times its size at {shown_name}, as a zip bomb does. "
            "Zip only your exercise files."
        )


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """At most one byte more than the member may have, so that the caller can tell."""
    if member.compress_type not in _METHODS:
        raise UnreadableError(
            f"is compressed in an unusual way at {shown(member.filename)}. Make an ordinary .zip."
        )
    with archive.open(member) as file:
        return file.read(size_limit(member.filename) + 1)
