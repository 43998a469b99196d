"""The suites measured: every known mistake must fail and be named, every look-alike pass."""
