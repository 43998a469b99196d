"""A file of the same submission that zoo.py imports."""


def divide(a, b):
    return a / b
