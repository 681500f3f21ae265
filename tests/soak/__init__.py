"""A long event in a short time: 32 setups, games that begin and end, clients that come and go, and faults.

`python -m tests.soak` runs for thirty minutes and prints the daemon's resources over time: file descriptors, tasks,
threads, memory. In the end they must be as low as in the first minutes. The short form is a test.
"""
