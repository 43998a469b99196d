"""``python -m grader``: see ``python -m grader --help``."""

from grader.cli import main

main()
