"""What a course's ``nbgrader_config.py`` asks for: our preprocessors in nbgrader's, and guards.

Read by every nbgrader command and by formgrader, so nothing heavy is loaded here.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

_HERE = "grader.exports.nbgrader"
_DATABASE = "gradebook.db"
_VERSIONS = "alembic_version"  # the table that nbgrader fills last
_STOCK_SECONDS = 120  # a cell of ours imports torch and runs an exercise's tests


class CourseFault(SystemExit):
    """nbgrader cannot go on in this course; the message says why and what to try."""


def configure(c: Any, file: str, *, isolated: bool) -> None:
    """Set up nbgrader for the course that ``file``, its ``nbgrader_config.py``, lies in.

    With ``isolated`` the stock ``nbgrader autograde`` and formgrader's button grade with Headstart and
    start no kernel: submissions are read and run behind the wall. Late penalties and the check of the
    cells' metadata stay as they are. Without, notebooks are run as nbgrader runs them.

    Raises CourseFault where the gradebook is half-made.
    """
    course = Path(file).resolve().parent
    _find_programs()
    _check_database(course)
    c.CourseDirectory.root = str(course)
    c.ExportApp.plugin_class = f"{_HERE}.table.QuotedCsv"
    c.Execute.timeout = _STOCK_SECONDS
    if isolated:
        c.Autograde.sanitize_preprocessors = [
            "nbgrader.preprocessors.ClearOutput",
            f"{_HERE}.preprocessors.RestoreCells",
            "nbgrader.preprocessors.OverwriteKernelspec",
            "nbgrader.preprocessors.CheckCellMetadata",
        ]
        c.Autograde.autograde_preprocessors = [
            f"{_HERE}.preprocessors.IsolatedScores",
            "nbgrader.preprocessors.AssignLatePenalties",
            "nbgrader.preprocessors.CheckCellMetadata",
        ]
        c.Autograde.pre_convert_hook = f"{_HERE}.preprocessors.say_what_is_odd"


def _find_programs() -> None:
    """Let nbgrader find ``alembic``, which it starts by its bare name, in an environment not activated.

    Without it a new gradebook is left half-made.
    """
    programs = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", "")
    if programs not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([programs, path]) if path else programs


def _check_database(course: Path) -> None:
    """Refuse a gradebook that lost its maker in the middle: nbgrader would fail later, and not say why."""
    file = course / _DATABASE
    if not file.is_file():
        return
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            whole = _VERSIONS in tables and database.execute(f"SELECT * FROM {_VERSIONS}").fetchall()
    except sqlite3.OperationalError:  # busy, say: nbgrader has its own words for that
        return
    except sqlite3.DatabaseError as error:
        raise CourseFault(
            f"{file} is not a database ({error}), so nothing was done. Put a copy of your gradebook back, "
            "or, if it never held grades, delete it."
        ) from error
    if not whole:
        raise CourseFault(
            f"{file} is half-made: nbgrader was stopped while it made it, or did not find the program "
            "alembic. Nothing was done. If no grades were entered yet, delete that file and run the same "
            "command again; otherwise put a copy of it back."
        )
