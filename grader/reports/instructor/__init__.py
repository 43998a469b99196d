"""What only an instructor is shown: not in a student's copy."""
