"""Where submissions are graded: each engine takes the same work and yields the same results."""
