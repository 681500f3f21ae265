"""Brackets: their sets are read, and what was played on the stations is reported to them, each set once.

`interface` is what a bracket offers, `kinds` finds one by name, `startgg` is start.gg. `played`, `matching` and `queue`
are pure: the content of a set message, its set of the bracket, and what becomes of its report. `desk` runs them.
"""
