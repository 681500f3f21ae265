"""Replay formats: bytes to events and back. Sans-IO.

A package that registers a format of its own needs the names in this module (`docs/howto/add_a_format.md`).
"""

from slpstream.formats.interface import Format, Preview, Reader, ReaderOptions, StatsComputer, WholeGame

__all__ = ["Format", "Preview", "Reader", "ReaderOptions", "StatsComputer", "WholeGame"]
