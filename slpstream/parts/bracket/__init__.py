"""Brackets. This part reads their sets, and reports the results of the stations to them, each set once.

If you want to add a bracket, start with `interface`. `kinds` finds a kind of bracket by its name, and there are two
implementations, `startgg` and `webhook`. `played`, `matching` and `queue` don't do any I/O: they contain the content of
a set message, find the set of the bracket that it belongs to, and know the states of its report. `desk` runs them, and
`configured` is the running part.
"""
