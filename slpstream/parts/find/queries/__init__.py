"""The query language for games. It has the syntax of the Slippi Launcher, with extensions.

A query is parsed into a condition. This is either evaluated as SQL over the index, or as a test of one game, and both
give the same result. There are no side effects.
"""
