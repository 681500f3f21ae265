"""Benchmarks: figures beside their targets, ratios beside a peer in the same run. `python -m tests.bench` prints them
all.

No figure fails anything: a miss is printed as a miss. CI runs the short form (`test_short.py`), which judges only that
the benchmarks run.
"""
