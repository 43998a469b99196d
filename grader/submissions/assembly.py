"""From the gathered files of one submission to the Submission that the grader examines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.assignment import Assignment
from grader.submissions.duplicates import is_untouched, written
from grader.submissions.finder import CodeFile, read_code
from grader.submissions.gathered import Entry, Gathered
from grader.submissions.model import Submission
from grader.submissions.names import base_name, exercise_file, listed, shown
from grader.submissions.placement import Placement, preferred


def assemble(entry: Entry, assignment: Assignment) -> Submission:
    """Read one submission. Whatever is wrong with it is told in the result, never raised."""
    gathered = entry.gather()
    if gathered.fatal is not None:
        return unreadable(entry, assignment, gathered.fatal)
    if not gathered.files and not gathered.refused:
        return unreadable(entry, assignment, _no_code(entry, gathered))
    code = {path: read_code(path, raw, assignment) for path, raw in sorted(gathered.files.items())}
    answers: dict[str, CodeFile] = {}
    problems: dict[str, str] = {}
    missing: list[str] = []
    for name in assignment.homes:
        match _answer(name, code.values(), assignment):
            case CodeFile() as file:
                answers[name] = file
            case str(problem):
                problems[name] = problem
            case None if refusal := _refusal(name, gathered, assignment):
                problems[name] = refusal
            case None:
                missing.append(name)
    left_out = _left_out(missing, assignment, code.values())
    missing = [name for name in missing if name not in left_out]
    problems |= {name: _not_handed_in([name], assignment, code.values(), gathered) for name in missing}
    placement = Placement(code, gathered.refused, assignment)
    placement.place(answers)
    problems |= placement.problems
    reason = None
    if not placement.homes:
        reasons = [problems[name] for name in assignment.homes if name not in [*missing, *left_out]]
        if missing:
            # What could not be read comes first: it is likely to be why nothing was found.
            reasons = [*_unclaimed(code.values()), *reasons]
            reasons.append(_not_handed_in(missing, assignment, code.values(), gathered))
        reason = " ".join(dict.fromkeys(reasons))
    return Submission(
        id=shown_id(entry.id),
        path=entry.path,
        files=placement.files,
        homes=placement.homes,
        problems={name: problems[name] for name in assignment.homes if name in problems},
        unreadable=reason,
        originals=placement.originals,
    )


def shown_id(name: str) -> str:
    """A submission's id: the name in full, with bytes that are no text spelled out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def own_ids(entries: Iterable[Entry]) -> list[Entry]:
    """The same, each with an id of its own: a name may spell out what another has as a byte."""
    taken: set[str] = set()
    told: list[Entry] = []
    for entry in sorted(entries, key=lambda entry: (shown_id(entry.id) != entry.id, entry.id)):
        id, number = shown_id(entry.id), 1
        while id in taken:
            number += 1
            id = f"{shown_id(entry.id)} ({number})"
        taken.add(id)
        told.append(replace(entry, id=id))
    return told


def unreadable(entry: Entry, assignment: Assignment, reason: str) -> Submission:
    """A submission of which nothing can be graded, for this reason."""
    problems = dict.fromkeys(assignment.homes, reason)
    return Submission(id=shown_id(entry.id), path=entry.path, problems=problems, unreadable=reason)


def _no_code(entry: Entry, gathered: Gathered) -> str:
    remarks = "".join(f" {remark}" for remark in dict.fromkeys(gathered.remarks))
    return (
        f"{shown(entry.id)} holds no code: there is no .py or .ipynb file in it.{remarks} "
        "Hand in the exercise files themselves."
    )


def _answer(name: str, code: Iterable[CodeFile], assignment: Assignment) -> CodeFile | str | None:
    """The file that defines ``name``, or the problem with it, or None when there is no sign of it."""
    home = assignment.homes[name]
    files = list(code)
    definers = [file for file in files if name in file.defines]
    claimers = [file for file in files if name in file.claims and name not in file.defines]
    if claimers:  # a broken draft of it counts more than an untouched stub
        definers = [file for file in definers if not is_untouched(name, file)]
    definers, clear = written(name, definers)
    if definers and clear and not claimers:
        return preferred(definers, home)
    if definers:
        return _conflict(name, [*definers, *claimers])
    meant = [file for file in files if file not in claimers and exercise_file(file.path, assignment) == home]
    reasons = [flaw.message for file in claimers for flaw in file.flaws if name in flaw.claims]
    reasons = reasons or [flaw.message for file in meant for flaw in file.flaws]
    if not reasons:
        return None
    return " ".join(dict.fromkeys(reasons))


def _conflict(name: str, files: list[CodeFile]) -> str:
    paths = [shown(file.path) for file in files]
    return (
        f"{name} is defined in {len(paths)} files, {listed(paths)}, so it is not clear which one counts. "
        "Keep one of them and hand in again."
    )


def _refusal(name: str, gathered: Gathered, assignment: Assignment) -> str | None:
    home = assignment.homes[name]
    reasons = [
        f"{shown(path)} {reason}"
        for path, reason in sorted(gathered.refused.items())
        if exercise_file(path, assignment) == home
    ]
    return " ".join(reasons) or None


def _unclaimed(code: Iterable[CodeFile]) -> list[str]:
    """What is wrong with files that give no sign of which exercise they were meant for."""
    files = [file for file in code if base_name(file.path) != "__init__.py"]  # may well be empty
    return [flaw.message for file in files for flaw in file.flaws if not flaw.claims]


def _left_out(missing: list[str], assignment: Assignment, code: Iterable[CodeFile]) -> set[str]:
    """The names of bonus exercises of which there is no sign at all: no fault, and no word about it."""
    misspelt = {name for file in code for name in file.misspelt}
    absent = set(missing) - misspelt
    return {name for one in assignment.bonus if absent.issuperset(one.defines) for name in one.defines}


def _not_handed_in(
    names: list[str], assignment: Assignment, code: Iterable[CodeFile], gathered: Gathered
) -> str:
    were, them = ("was", "it") if len(names) == 1 else ("were", "them")
    told = [f"{listed(names)} {were} not handed in: no file defines {them}."]
    for file in code:
        for name in names:
            if name in file.misspelt:
                found = file.misspelt[name]
                told.append(
                    f"{shown(file.path)} defines {shown(found)}, which is spelled differently from {name}."
                )
            if name in file.in_text:
                told.append(
                    f"A cell of {shown(file.path)} holds {name} as text, which Jupyter does not run: "
                    "make it a code cell."
                )
    told += dict.fromkeys(gathered.remarks)
    homes = listed(list(dict.fromkeys(assignment.homes[name] for name in names)))
    told.append(f"Define {them} in {homes}, spelled exactly so, and hand that in too.")
    return " ".join(told)
