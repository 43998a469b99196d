"""The instructor's commands: not in a student's copy."""
