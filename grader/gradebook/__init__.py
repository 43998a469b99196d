"""What is kept of a graded class: how it was run, what was decided by hand, what grading again changed."""
