"""The pytest side: a suite that is collected once and then sat by one candidate after another."""
