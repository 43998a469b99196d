"""What can go wrong on the student's side of the wall, as data and as exceptions."""

from __future__ import annotations

import linecache
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.candidate.values import MalformedValue, legible

MAX_MESSAGE = 2_000
MAX_FRAMES = 20
_MOST_READ = 100_000
_HERE = str(Path(__file__).parents[1])  # the grader
MAX_LINE = 2**31
HARD_CODED_DEVICE = (
    "The device cuda is hard-coded. Whoever uses the code chooses the device: "
    "take it from a tensor you were given, as in device=x.device."
)
_name_of = type.__dict__["__name__"].__get__  # past a metaclass, which may claim another


@dataclass(frozen=True)
class Line:
    """A line of the student's own file: where, in which function, and its text."""

    file: str
    line: int
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class CandidateError(Exception):
    """The candidate gave no value; ``str()`` says why in words for the student."""

    def __init__(self, message: str, lines: tuple[Line, ...] = ()) -> None:
        super().__init__(message)
        self.lines = lines


class StudentError(CandidateError):
    """The student's code raised an exception: its type, message and the student's own lines."""

    def __init__(self, kind: str, message: str, lines: tuple[Line, ...] = ()) -> None:
        super().__init__(f"{kind}: {message}" if message else kind, lines)
        self.kind = kind
        self.message = message


class Refused(CandidateError):
    """The student's code called something the assignment refuses."""


class NotUsable(CandidateError):
    """What the student built lacks what the contract promises (a name, a shape, a base class)."""


class NotHandedIn(NotUsable):
    """The name cannot be examined at all: it is missing, or its file cannot be read."""


class OutOfTime(CandidateError):
    """A deadline passed and the call was stopped."""

    @classmethod
    def after(cls, seconds: float, lines: tuple[Line, ...] = ()) -> OutOfTime:
        """For a call that was given so many seconds."""
        return cls(
            f"No answer within {seconds:.3g} s, so the call was stopped. "
            "Is there a loop that never ends, or one over single elements?",
            lines,
        )


class Exhausted(CandidateError):
    """The submission's own time was used up before this was asked."""


class Died(CandidateError):
    """The worker ended by itself: a crash, an exit, a limit."""


class Nonsense(CandidateError):
    """The worker answered with something that is not an answer."""


class HostFailed(Exception):
    """The wall itself could not be put up or kept up: a fault of ours, never the student's."""


# What may cross the wire as an error, by name. The examiner's own kinds (OutOfTime, Died,
# Nonsense) are missing on purpose: a worker cannot claim them.
_KINDS: dict[str, type[CandidateError]] = {"refused": Refused, "unusable": NotUsable}


class Refusal(BaseException):
    """Raised inside the student's code when it calls what the assignment refuses.

    Not an ``Exception``: a student's ``except Exception`` around the call should not hide it.
    """


class Unusable(Exception):
    """Raised by the workbench when a built object lacks what the contract promises."""


def describe(error: BaseException, folder: Path) -> dict[str, Any]:
    """An exception of the student's code as plain data; foreign ``__str__`` is called here only."""
    kind: type = type(error)
    try:
        lines = own_lines(error, folder)
    except BaseException:  # the exception's class may define what is looked at, and fail
        lines = []
    if issubclass(kind, Refusal | Unusable | MalformedValue):
        wire_kind = "refused" if issubclass(kind, Refusal) else "unusable"
        return {"kind": wire_kind, "type": "", "message": str(error), "lines": lines}
    try:
        message = _explained(_without(folder, str.__str__(str(error))[:_MOST_READ]))[:MAX_MESSAGE]
    except BaseException:
        message = "(its message could not be read)"
    return {"kind": "raised", "type": _name_of(kind)[:200], "message": message, "lines": lines}


def _without(folder: Path, message: str) -> str:
    """Without where files lie: Python tells it of imports that go in a circle, TorchScript of a function.

    Lines about files of our own are left out, as they would be of a traceback.
    """
    for place in {str(folder), str(folder.resolve())}:
        message = message.replace(f"{place}/", "")
    return "\n".join(line for line in message.split("\n") if _HERE not in line)


def _explained(message: str) -> str:
    """PyTorch's words for a hard-coded GPU speak of how it was compiled: say what that means here."""
    if "Torch not compiled with CUDA enabled" in message:
        return f"{message}. {HARD_CODED_DEVICE}"
    return message


def own_lines(error: BaseException, folder: Path) -> list[dict[str, Any]]:
    """The traceback's lines that lie in the student's folder, innermost last."""
    lines: list[dict[str, Any]] = []
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = _relative(frame.f_code.co_filename, folder)
        if name is not None:
            text = linecache.getline(frame.f_code.co_filename, number).strip()[:200]
            lines.append(asdict(Line(name, number, frame.f_code.co_name[:100], text)))
    if isinstance(error, SyntaxError) and type(error.filename) is str and type(error.lineno) is int:
        name = _relative(error.filename, folder)
        if name is not None:
            text = linecache.getline(error.filename, error.lineno).strip()[:200]
            lines.append(asdict(Line(name, error.lineno, "", text)))
    return lines[-MAX_FRAMES:]


def _relative(filename: str, folder: Path) -> str | None:
    try:
        return Path(filename).resolve().relative_to(folder.resolve()).as_posix()
    except (ValueError, OSError):
        return None


def revive(report: object) -> CandidateError:
    """The exception that a description stands for. Raises ValueError when it is not a description."""
    if not isinstance(report, dict):
        raise ValueError("an error's description was expected")
    kind, name, message, lines = (report.get(key) for key in ("kind", "type", "message", "lines"))
    if not (isinstance(kind, str) and isinstance(name, str) and isinstance(message, str)):
        raise ValueError("an error's description lacks its texts")
    if not isinstance(lines, list) or len(lines) > MAX_FRAMES:
        raise ValueError("an error's description lacks its lines")
    own = tuple(_line(line) for line in lines)
    message, name = legible(message[:MAX_MESSAGE]), " ".join(legible(name[:200]).split())
    if kind == "raised":
        return StudentError(name, message, own)
    if kind not in _KINDS:
        raise ValueError("an error of an unknown kind")
    return _KINDS[kind](message, own)


def _line(raw: object) -> Line:
    if not isinstance(raw, dict):
        raise ValueError("a line was expected")
    file, line, function, text = (raw.get(key) for key in ("file", "line", "function", "text"))
    if not (isinstance(file, str) and isinstance(function, str) and isinstance(text, str)):
        raise ValueError("a line lacks a part")
    if type(line) is not int or not 0 <= line < MAX_LINE:
        raise ValueError("a line's number is none")
    return Line(legible(file[:500]), line, legible(function[:100]), legible(text[:200]))
