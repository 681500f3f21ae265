"""The query language for games: the syntax of the Slippi Launcher with extensions.

A query is parsed into a condition, which is evaluated as SQL over the index or as a test of one game. Both give the
same answer. Pure.
"""
