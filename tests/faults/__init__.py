"""What goes wrong in the world, done to a real daemon on purpose, while a subscriber counts its messages.

`matrix` is the table of faults, `scene` the stage on which each is played: a station, a daemon, a game that is written,
and a subscriber that comes back with its cursor. `python -m tests.faults --table` plays the long forms and writes
`deploy/docs/faults.md`; the short forms are tests.
"""
