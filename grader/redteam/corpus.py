"""The attack corpus: submissions that cheat, break or are merely odd, each around code of known worth."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from inspect import getdoc
from pathlib import Path
from types import ModuleType

from grader.quality.cases import CaseError

FILE = "self_attention.py"  # what an attack hands in, unless it is about something else
REACHED = "GOT AWAY WITH IT"  # what an attack says that got at something it should not have
_MARK = "_attack"


class Code(StrEnum):
    """The honest code that an attack hides behind: its score is all that may be earned."""

    RIGHT = "right"
    WRONG = "wrong"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Scene:
    """Where an attack makes its submission, and all that an intruder could have found out beforehand.

    ``folder`` is the submission's own, made when it is first asked for; ``handed_in`` the folder of
    the class, in which the neighbours' submissions lie, too.
    """

    handed_in: Path
    honest: str
    root: Path
    gradebook: Path
    home: Path
    temporary: Path
    mark: str
    grader: int
    port: int

    @property
    def folder(self) -> Path:
        folder = self.handed_in / "attack"
        folder.mkdir(exist_ok=True)
        return folder

    def at_import(self, payload: str) -> str:
        """The honest code, with ``payload`` before it."""
        return f"{self._filled(payload)}\n\n{self.honest}"

    def after(self, payload: str) -> str:
        """The honest code, with ``payload`` at the end of the file."""
        return f"{self.honest}\n\n{self._filled(payload)}"

    def in_the_call(self, payload: str) -> str:
        """The honest code, where every call of ``forward`` does ``payload`` first.

        The payload knows ``self``, ``x``, ``mask`` and ``honest()``, which gives the honest answer.
        """
        body = textwrap.indent(self._filled(payload), "    ")
        return (
            f"{self.honest}\n\n_honest_forward = SelfAttention.forward\n\n\n"
            "def _forward(self, x, mask=None):\n"
            "    def honest():\n        return _honest_forward(self, x, mask)\n\n"
            f"{body}\n    return honest()\n\n\nSelfAttention.forward = _forward\n"
        )

    def once(self, payload: str) -> str:
        """As ``in_the_call``, in one call alone: a file in the scratch folder tells later workers, too."""
        body = textwrap.indent(textwrap.dedent(payload).strip("\n"), "    ")
        mark = "import os, tempfile\ndone = os.path.join(tempfile.gettempdir(), 'done')"
        return self.in_the_call(f"{mark}\nif not os.path.exists(done):\n    open(done, 'w').close()\n{body}")

    def reaching(self, action: str, payload: str = "") -> str:
        """The honest code, whose first call tries the expression ``action`` and tells what it got."""
        attempt = f"""
            import os

            def _attempt(action):
                try:
                    got = action()
                except OSError as error:  # without the path, which the intruder knew anyway
                    raise type(error)(error.errno, os.strerror(error.errno)) from None
                raise RuntimeError(f"{REACHED}: {{got!r:.60}}")
        """
        call = f"_attempt(lambda: {self._filled(action).strip()})"
        text = self.in_the_call(call)
        return f"{self._filled(payload)}\n{textwrap.dedent(attempt)}\n{text}"

    def _filled(self, payload: str) -> str:
        """The payload with what the intruder knows in the places of ``<root>`` and the like."""
        known = {
            "root": self.root,
            "class": self.handed_in,
            "gradebook": self.gradebook,
            "home": self.home,
            "temporary": self.temporary,
            "mark": self.mark,
            "grader": self.grader,
            "port": self.port,
        }
        text = textwrap.dedent(payload).strip("\n")
        for name, value in known.items():
            text = text.replace(f"<{name}>", str(value))
        return text


Maker = Callable[[Scene], str | bytes | None]


@dataclass(frozen=True)
class Attack:
    """One attack.

    ``make`` returns the text of the file it hands in, or makes its submission itself. ``odd``: it
    is no attack and must earn exactly the honest points. ``says`` is a pattern that must be found
    in what the student reads. ``opens`` names the row of docs/security.md, by its last column, that
    says at which levels this is not prevented; ``fatal``: it is not even tried there. ``seconds``
    replaces the time a call may take, for what never ends.
    """

    id: str
    what: str
    kind: str
    make: Maker
    behind: Code
    odd: bool
    says: str
    opens: str
    fatal: bool
    seconds: float | None


def attack(
    *,
    says: str = "",
    behind: Code = Code.WRONG,
    odd: bool = False,
    opens: str = "",
    fatal: bool = False,
    seconds: float | None = None,
) -> Callable[[Maker], Maker]:
    """Register a maker as an attack, see :class:`Attack`; its name is the id, its docstring what it does."""

    def register(make: Maker) -> Maker:
        name = make.__name__
        head, *rest = name.split("_")
        id = "-".join([head.upper() if head[1:].isdecimal() else head, *rest])
        what = " ".join((getdoc(make) or "").split())
        kind = make.__module__.rpartition(".")[2]
        setattr(make, _MARK, Attack(id, what, kind, make, behind, odd, says, opens, fatal, seconds))
        return make

    return register


def load_attacks(folder: Path) -> list[Attack]:
    """All of ``folder/*.py``, after the two controls. Raises CaseError for one that cannot be used."""
    found: dict[str, Attack] = {control.id: control for control in CONTROLS}
    for path in sorted(folder.glob("*.py")):
        for value in vars(_imported(path)).values():
            case = getattr(value, _MARK, None)
            if not isinstance(case, Attack):
                continue
            if not case.what:
                raise CaseError(f"{path}: {case.id} does not say what it does. Give it a docstring.")
            if case.id in found:
                raise CaseError(f"{path}: two attacks are called {case.id}. Give each its own name.")
            found[case.id] = case
    return list(found.values())


def honest_codes(folder: Path, root: Path) -> Mapping[Code, str]:
    """The text of each honest code; of nothing there is none."""
    return {
        Code.RIGHT: (root / "solutions" / FILE).read_text(encoding="utf-8"),
        Code.WRONG: (folder / "behind" / "wrong.py").read_text(encoding="utf-8"),
        Code.NOTHING: "",
    }


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"attack_cases.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CaseError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def _control(id: str, behind: Code, says: str) -> Attack:
    what = f"No attack: the {behind} code as it is."
    return Attack(id, what, "control", lambda scene: scene.honest, behind, True, says, "", False, None)


CONTROLS = (_control("A00", Code.RIGHT, ""), _control("A00w", Code.WRONG, "attention weights"))
