"""Importing a student's files: each one by path, once, and never in place of a library's module."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from grader.candidate.faults import Unusable


class Loader:
    """Finds names in the files of one folder.

    ``homes`` maps the names that exercises ask for to the file that defines them. The folder is
    put at the *end* of ``sys.path``, so that files may import one another but cannot stand in
    for a library.
    """

    def __init__(self, folder: Path, homes: Mapping[str, str]) -> None:
        folder = self._folder = folder.absolute()  # as the import system will call it
        self._homes = dict(homes)
        self._modules: dict[str, ModuleType] = {}
        path = str(folder)
        if path not in sys.path:
            sys.path.append(path)

    def find(self, name: str) -> object:
        """The class or function called ``name``. Raises whatever the import raises, or Unusable."""
        home = self._homes.get(name)
        if home is None:
            raise Unusable(f"{name} was not handed in.")
        module = self._modules.get(home)
        if module is None:
            module = self._modules[home] = self._import(home)
        try:
            return vars(module)[name]
        except KeyError:
            raise Unusable(f"{home} ran to its end, but did not define {name}.") from None

    def _import(self, home: str) -> ModuleType:
        path = self._folder / home
        if not path.is_file():
            raise Unusable(f"There is no file {home}.")
        name = path.stem
        if _stands_for(name) not in (None, path):
            name = f"submission_{name}"  # a file called torch.py is loaded, but not as torch
        elif name in sys.modules:
            return sys.modules[name]  # another of the student's files imported it before
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise Unusable(f"{home} is not a Python file.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return module


class Live:
    """Finds names among objects that exist already, as in the kernel of a notebook."""

    def __init__(self, objects: Mapping[str, object]) -> None:
        self._objects = objects

    def find(self, name: str) -> object:
        """The class or function called ``name``. Raises Unusable."""
        try:
            return self._objects[name]
        except KeyError:
            raise Unusable(f"{name} is not defined here.") from None


def _stands_for(name: str) -> Path | str | None:
    """The file that ``import name`` would give, or has given; None when there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # loaded without a spec, as __main__ is
        return name
    if spec is None:
        return None
    return Path(spec.origin) if spec.has_location and spec.origin else name
