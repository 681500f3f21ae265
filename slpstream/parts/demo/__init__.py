"""Simulated games. These are the demo of a running daemon, `slpstream demo`, and `slpstream simulate`."""
