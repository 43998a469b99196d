"""Grading and grading again: from submissions to results in a folder."""
