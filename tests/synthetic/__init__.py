"""Synthetic Slippi matches: replays for tests, benchmarks and the demo, made without a game or a real replay.

`match.synthetic_match` simulates a match between bots and returns its replay. The same arguments always give the same
bytes, so tests can rely on its events. `record_demo` makes the matches that `slpstream demo` plays.
"""
