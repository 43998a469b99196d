"""The wall measured: known attacks, tried at every level of isolation."""
