"""The files that reach the candidate: answers under safe names, and what they import."""

from __future__ import annotations

from collections.abc import Mapping

from grader.assignment import Assignment
from grader.submissions.finder import CodeFile
from grader.submissions.imports import follow, mentions_import, rewritten, roots_of
from grader.submissions.names import as_python, base_name, is_plain_module, shown, stem
from grader.submissions.python_source import SourceError, parse, to_bytes


class _PlacementError(Exception):
    """An answer cannot be examined with what it imports; the message tells the student why."""


class Placement:
    """Lays the answers flat in one folder, with the student's own modules that they import."""

    def __init__(
        self, code: Mapping[str, CodeFile], refused: Mapping[str, str], assignment: Assignment
    ) -> None:
        self.files: dict[str, bytes] = {}
        self.homes: dict[str, str] = {}
        self.originals: dict[str, str] = {}
        self.problems: dict[str, str] = {}
        self._code = code
        self._refused = refused
        self._assignment = assignment
        # Where Python would look for each file; a .py, coming last, is preferred to a notebook.
        paths = sorted([*code, *refused], key=lambda path: path.endswith(".py"))
        self._index = {as_python(path): path for path in paths}

    def place(self, answers: Mapping[str, CodeFile]) -> None:
        """Store the file of every name in ``answers``, then what those files import."""
        keys = self._keys(answers)
        for path, key in keys.items():
            names = [name for name, file in answers.items() if file.path == path]
            try:
                self._store(path, key)
            except _PlacementError as error:
                self.problems.update(dict.fromkeys(names, str(error)))
            else:
                self.homes.update(dict.fromkeys(names, key))

    def _keys(self, answers: Mapping[str, CodeFile]) -> dict[str, str]:
        """A file name for each answer: its own if Python can import it everywhere, else the exercise's."""
        paths = list(dict.fromkeys(file.path for file in answers.values()))
        keys: dict[str, str] = {}
        taken: set[str] = set()
        own = {path: f"{stem(path)}.py" for path in paths if is_plain_module(stem(path))}
        for path in sorted(paths, key=lambda path: path not in own):
            homes = [self._assignment.homes[name] for name, file in answers.items() if file.path == path]
            wanted = [own[path]] if path in own else []
            wanted += [*homes, *(f"{stem(homes[0])}_{number}.py" for number in range(2, len(paths) + 2))]
            keys[path] = next(key for key in wanted if key.lower() not in taken)
            taken.add(keys[path].lower())
        return keys

    def _store(self, answer: str, answer_key: str) -> None:
        """Store an answer and all it imports, or nothing. Raises _PlacementError."""
        roots = roots_of(answer)
        files, originals = dict(self.files), dict(self.originals)
        waiting, seen = [(answer, answer_key)], {(answer, answer_key)}
        while waiting:
            path, key = waiting.pop(0)
            text = self._text(path, answer)
            try:
                tree = parse(text) if mentions_import(text) else None
            except SourceError:
                tree = None  # a broken module: importing it will say so, with its line
            if tree is not None:
                targets, rewrites = follow(tree, path, key, roots, self._index)
                text = rewritten(text, rewrites)
                new = dict.fromkeys((target.path, target.key) for target in targets)
                waiting += [pair for pair in new if pair not in seen]
                seen.update(new)
            content = to_bytes(text)
            if files.setdefault(key, content) != content:
                raise _PlacementError(
                    f"{shown(answer)} needs {shown(path)} as {key}, but {originals[key]} is needed by that "
                    "name too. Rename one of them, and the imports of it."
                )
            originals.setdefault(key, shown(path))
        self.files, self.originals = files, originals

    def _text(self, path: str, answer: str) -> str:
        if path in self._refused:
            raise _PlacementError(f"{shown(answer)} imports {shown(path)}, which {self._refused[path]}")
        file = self._code[path]
        if file.text is None:
            reasons = " ".join(flaw.message for flaw in file.flaws)
            raise _PlacementError(f"{shown(answer)} imports {shown(path)}, which cannot be read. {reasons}")
        return file.text


def preferred(files: list[CodeFile], home: str) -> CodeFile:
    """Of several files with the same text: the one called as it should be, else the least deep."""
    return min(files, key=lambda file: (base_name(file.path) != home, file.path.count("/"), file.path))
