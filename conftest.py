"""Plain ``pytest`` gets the suites' fixtures, words and points table from here."""

pytest_plugins = ["grader.examination.plugin", "tests.support.fixtures"]
