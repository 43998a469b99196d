"""The pytest side: a suite that is collected once and then put to one candidate after another."""
