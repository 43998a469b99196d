"""Everything that is kept on disk of a graded class: journal, results, how it was run, what was decided."""
