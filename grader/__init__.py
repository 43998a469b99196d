"""Headstart's grader: learn attention by building it, grade it without trusting it."""

__version__ = "0.1.0"
