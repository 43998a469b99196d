"""What is said after a course was made for nbgrader, and after scores were entered in one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from grader.text import one_line


class _Course(Protocol):
    @property
    def folder(self) -> Path: ...
    @property
    def assignments(self) -> tuple[str, ...]: ...
    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def kept(self) -> tuple[str, ...]: ...


class _Entered(Protocol):
    @property
    def entered(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def left_out(self) -> Mapping[str, str]: ...


def course_lines(course: _Course) -> list[str]:
    """What was released, and what to do next."""
    lines = [f"Released {len(course.files)} files into the course {course.folder}/"]
    if course.kept:
        lines.append(
            f"Left as it is, since it has settings of your own: {', '.join(course.kept)}. It must call "
            "configure() as docs/nbgrader.md says."
        )
    nbgrader = Path(sys.executable).with_name("nbgrader")
    lines += ["Next, in that folder:"]
    lines += [f"  {nbgrader} generate_assignment {name}" for name in course.assignments]
    return lines


def entered_lines(done: _Entered, course: Path) -> list[str]:
    """Whose scores are in the gradebook now, and whose are not, and why."""
    lines = [
        f"{len(students)} submissions entered for {assignment} in {course}"
        for assignment, students in done.entered.items()
    ]
    if done.left_out:
        lines.append("Not entered:")
        lines += [f"  {one_line(student)}: {why}" for student, why in done.left_out.items()]
    return lines or [f"Nothing was entered in {course}: there are no results."]
