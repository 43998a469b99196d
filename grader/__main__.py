"""``python -m grader``: see ``python -m grader --help``."""

from grader.cli.student import main

main()
