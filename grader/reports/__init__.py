"""What people and programs see of the results: result files, a table of scores, the terminal."""
