"""Faults of files, processes and machines, injected into a real daemon while a subscriber checks its messages.

`matrix` is the table of faults. `scene` is the setting of each: a station, a daemon, a game in progress, and a
subscriber that reconnects with its cursor. `python -m tests.faults --table` runs the long forms and writes
`docs/reference/faults.md`; the short forms are tests.
"""
