"""What an instructor publishes: stubs cut from solutions, releases, and the proof that they leak nothing."""
