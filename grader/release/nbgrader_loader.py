"""The public tests of this assignment, for the notebooks beside this file. There is nothing to write here."""

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

_BUNDLE = Path(__file__).with_name("headstart.bundle")


def check(exercise: str, aspect: str | None = None, *, seed: int | None = None) -> None:
    """Run the public tests of an exercise, or of one aspect of it, on your code in this notebook."""
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        return  # points are counted elsewhere
    if "grader" not in sys.modules:
        folder = tempfile.mkdtemp(prefix="headstart-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        with zipfile.ZipFile(_BUNDLE) as bundle:
            bundle.extractall(folder)
        sys.path.insert(0, folder)
    try:
        from grader.notebook import check as check_here
    except ImportError as error:
        raise ImportError(
            f"The tests cannot be run here: {error}. Install what they need, in a terminal: "
            f"{sys.executable} -m pip install -r {_BUNDLE.with_name('requirements.txt')}"
        ) from error
    check_here(exercise, aspect, seed=seed)
