"""Simulated games: the demo of a running daemon, `slpstream demo`, and `slpstream simulate`."""
