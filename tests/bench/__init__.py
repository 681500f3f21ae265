"""Benchmarks: figures beside their targets, and a peer in the same run where there is one.

`python -m tests.bench` runs them and prints the table. No figure fails anything: a miss is printed as a miss. CI runs
the short form (`test_short.py`), which judges only that the benchmarks run.
"""
