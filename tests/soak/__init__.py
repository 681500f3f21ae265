"""A long day in little time: 32 setups, games that begin and end, clients that come and go, faults on the way.

`python -m tests.soak` runs for thirty minutes and prints the curve of what the daemon holds: descriptors, tasks,
threads, memory. At the end they are what they were in the first minutes. A short form is a test.
"""
