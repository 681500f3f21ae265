"""Benchmarks: figures with their targets, and a peer measured in the same run where one exists.

`python -m tests.bench` runs them and prints a table. A missed target is printed but is not a failure. CI runs the short
form (`test_short.py`), which checks only that the benchmarks run.
"""
