"""A failing test as a student sees it: the property, what was observed, their own line, a question."""

from __future__ import annotations

from types import SimpleNamespace

from _pytest._code.code import TerminalRepr
from _pytest._io import TerminalWriter

from grader.scoring import Outcome


class Words(TerminalRepr):
    """Stands where pytest would print a traceback through our internals."""

    def __init__(self, test: str, outcome: Outcome, hint: str | None) -> None:
        self._outcome = outcome
        self._hint = outcome.hint or hint
        observed = outcome.message.split("\n")
        # pytest's short summary prints this after the test's name
        self.reprcrash = SimpleNamespace(message=observed[min(1, len(observed) - 1)], path=test, lineno=0)

    def toterminal(self, tw: TerminalWriter) -> None:
        first, *rest = self._outcome.message.split("\n")
        tw.line(first, bold=True)
        for line in rest:
            tw.line(line, red=line.startswith("Observed:"))
        if self._hint:
            tw.line(f"Think about: {self._hint}", cyan=True)

    def __str__(self) -> str:
        return self._outcome.message
