"""Folders: one submission, or one submission for each thing inside."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import Assignment
from grader.submissions import archive, single_file
from grader.submissions.disk import UnreadableError, kind_refused, read_regular
from grader.submissions.finder import read_code
from grader.submissions.gathered import MAX_DEPTH, MAX_FILES, TOTAL_BYTES, Entry, Gathered, IntakeError
from grader.submissions.names import exercise_file, is_code, is_hidden, is_skipped_folder, shown, size_limit
from grader.submissions.sandboxed_parse import each

ORDER = 100  # after every platform that knows its own export better

_MAX_VISITED = 20_000  # files of any kind: a folder of data must not keep the grader busy
_OTHER_ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz")
_NOT_A_SUBMISSION = frozenset({"__init__.py", "conftest.py"})


def entries(path: Path, name: str, assignment: Assignment) -> list[Entry] | None:
    """The submissions in the folder ``path``; None if it is no folder. Raises IntakeError."""
    if not path.is_dir():
        return None
    try:
        children = _children(path)
    except OSError as error:
        raise IntakeError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}. "
            "Check its permissions, or give another path."
        ) from error
    if is_one_submission(path, children, assignment):
        return [Entry(name, path, lambda: gather(path))]
    return [entry for child in children if (entry := _child_entry(child))]


_A_CLASS = 3  # so many more folders with exercise files are hardly one student's drafts


def is_one_submission(path: Path, children: list[os.DirEntry[str]], assignment: Assignment) -> bool:
    """Is this folder one student's work rather than a class?

    It is when a file directly inside is named as an exercise file, when it is a copy of the
    handed-out folder (``exercises/`` inside), or when it holds nothing but code files whose
    exercise names do not overlap. Several more folders with exercise files make it a class all the
    same: nobody's name should turn a class into the work of one.
    """
    folders = [child for child in children if stat.S_ISDIR(_mode(Path(child)))]
    code = [child for child in children if child not in folders and is_code(child.name)]
    own = [child for child in code if exercise_file(child.name, assignment)]
    own += [one for one in folders if one.name == "exercises" and _is_handed_out(Path(one), assignment)]
    if own:
        others = [one for one in folders if one not in own and _is_handed_out(Path(one), assignment)]
        return len(others) < _A_CLASS
    if any(child.name.lower().endswith((archive.SUFFIX, *_OTHER_ARCHIVES)) for child in children):
        return False
    if any(_holds_code(Path(folder)) for folder in folders):
        return False
    (apart,) = each(lambda code: _names_do_not_overlap(path, code, assignment), [code])
    return apart is True  # what cannot be read is nobody's work but that of whom it came from


def _names_do_not_overlap(path: Path, code: list[os.DirEntry[str]], assignment: Assignment) -> bool:
    seen: set[str] = set()
    for child in code[:MAX_FILES]:
        try:
            file = read_code(child.name, read_regular(path / child.name, size_limit(child.name)), assignment)
        except UnreadableError:
            return False
        names = file.defines | file.claims
        if file.flaws and not names:
            return False  # whose work this is cannot be told: keep it apart
        if seen & names:
            return False
        seen |= names
    return bool(seen)


def _is_handed_out(folder: Path, assignment: Assignment) -> bool:
    try:
        return any(exercise_file(child.name, assignment) for child in _children(folder))
    except OSError:
        return False


def _holds_code(folder: Path) -> bool:
    return any(is_code(Path(path).name) for path, _ in _walk(folder))


def _child_entry(child: os.DirEntry[str]) -> Entry | None:
    path, lower = Path(child), child.name.lower()
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return Entry(child.name, path, lambda: gather(path))
    if is_code(child.name) and child.name not in _NOT_A_SUBMISSION:
        return single_file.entry(path, child.name)
    if lower.endswith(archive.SUFFIX):
        return archive.entry(path, child.name)
    if lower.endswith(_OTHER_ARCHIVES):
        return _unreadable(path, "is an archive of a kind that is not read here. Hand in a .zip instead.")
    if stat.S_ISLNK(mode) and not path.suffix:  # a link in the place of a student's folder
        return _unreadable(path, kind_refused(mode) or "")
    return None


def _unreadable(path: Path, reason: str) -> Entry:
    return Entry(path.name, path, lambda: Gathered(fatal=f"{shown(path.name)} {reason}"))


def gather(root: Path) -> Gathered:
    """Read the code files of one submission's folder. What cannot be read is told, never raised."""
    gathered = Gathered()
    total = 0
    for path, mode in _walk(root, gathered.remarks):
        name = os.path.relpath(path, root).replace(os.sep, "/")
        if not is_code(Path(path).name):
            if path.lower().endswith(archive.SUFFIX):
                gathered.remarks.append(
                    f"{shown(name)} was not opened: an archive inside a folder is not read."
                )
            continue
        if len(gathered.files) + len(gathered.refused) >= MAX_FILES:
            gathered.remarks.append(f"Only the first {MAX_FILES} code files were looked at.")
            break
        try:
            if refusal := kind_refused(mode):
                raise UnreadableError(refusal)
            content = read_regular(Path(path), size_limit(name))
            total += len(content)
            if total > TOTAL_BYTES:
                raise UnreadableError(
                    "was not read: the files before it are too large already. Leave those out."
                )
        except UnreadableError as error:
            gathered.refused[name] = str(error)
        else:
            gathered.files[name] = content
    return gathered


def _walk(root: Path, remarks: list[str] | None = None) -> Iterator[tuple[str, int]]:
    """The files below ``root`` as (path, st_mode): no links followed, nothing hidden, a bounded number."""
    remarks = [] if remarks is None else remarks
    visited = 0
    waiting: list[tuple[Path, int]] = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop(0)
        try:
            children = _children(folder)
        except OSError as error:
            remarks.append(
                f"The folder {shown(folder.name)} cannot be opened: {(error.strerror or '').lower()}."
            )
            continue
        if any(child.name == "pyvenv.cfg" for child in children):
            continue  # a virtual environment, whatever it is called
        for child in children:
            visited += 1
            if visited > _MAX_VISITED:
                remarks.append(f"Only the first {_MAX_VISITED} files were looked at.")
                return
            mode = _mode(Path(child))
            if not stat.S_ISDIR(mode):
                yield child.path, mode
            elif is_skipped_folder(child.name):
                continue
            elif depth < MAX_DEPTH:
                waiting.append((Path(child), depth + 1))
            else:
                remarks.append(f"Folders more than {MAX_DEPTH} deep were not looked into.")


def _children(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        kept = [child for child in found if not is_hidden(child.name) and not is_skipped_folder(child.name)]
    return sorted(kept, key=lambda child: child.name)


def _mode(path: Path) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
