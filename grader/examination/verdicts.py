"""From what a test raised to an outcome: wrong, no answer, not run, or a fault of ours."""

from __future__ import annotations

from _pytest.outcomes import Skipped

from grader.candidate.faults import (
    CandidateError,
    Died,
    Exhausted,
    Line,
    Nonsense,
    NotHandedIn,
    OutOfTime,
    Refused,
)
from grader.errors import HeadstartError
from grader.results import TestStatus
from grader.scoring import Outcome

_FURTHER_LINE = "\n  "  # of a student's own words, which then cannot pose as a line of ours
REFUSED = "library-attention"  # the diagnosis of an answer that policy refuses


class WrongAnswer(AssertionError):
    """A property does not hold; ``str()`` says what was observed, in words for the student."""


class NotRun(Skipped):
    """The test could not be run here (no accelerator, say); ``str()`` says why.

    Only a suite's own code can raise it: a skip raised by the candidate arrives as StudentError.
    """


class InfrastructureFault(HeadstartError):
    """Something of ours failed while a submission was examined."""


def judge(error: BaseException, sentence: str, where: Line | None = None) -> Outcome:
    """The outcome for a test that raised ``error``; ``sentence`` is the property it examined.

    Raises InfrastructureFault when the error is none of the candidate's.
    """
    if isinstance(error, NotRun | Exhausted | NotHandedIn):
        return Outcome(TestStatus.NOT_RUN, message=str(error))
    if isinstance(error, OutOfTime | Died | Nonsense):
        return Outcome(TestStatus.ERROR, message=_compose(sentence, str(error), _last(error.lines)))
    if isinstance(error, Refused):
        return Outcome(TestStatus.FAILED, _compose(sentence, str(error), _last(error.lines)), REFUSED)
    if isinstance(error, CandidateError):
        said = str(error).replace("\n", _FURTHER_LINE)
        observed = f"Your code stopped with {said}" if error.lines else said
        return Outcome(TestStatus.FAILED, message=_compose(sentence, observed, _last(error.lines) or where))
    if isinstance(error, AssertionError):
        return Outcome(TestStatus.FAILED, message=_compose(sentence, str(error), where))
    raise InfrastructureFault(f"{type(error).__name__}: {error}") from error


def _last(lines: tuple[Line, ...]) -> Line | None:
    return lines[-1] if lines else None


def _compose(sentence: str, observed: str, where: Line | None) -> str:
    parts = [sentence, f"Observed: {observed}"]
    if where is not None and where.file:
        text = f": {where.text}" if where.text else ""
        function = f" in {where.function}" if where.function and where.function != "<module>" else ""
        parts.append(f"Your code: {where.file}, line {where.line}{function}{text}")
    return "\n".join(parts)
