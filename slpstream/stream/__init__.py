"""The log of a game and its subscribers: rings, positions, fan-out and backpressure.

This package doesn't know any format, and it never opens a file.
"""
