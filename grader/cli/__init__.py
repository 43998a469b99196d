"""The commands: parse, call, print. Nobody imports them."""
