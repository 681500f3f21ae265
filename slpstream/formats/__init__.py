"""Replay formats: bytes to events and back. Sans-IO.

A package that registers another format needs the names in this module (`docs/howto/add_a_format.md`).
"""

from slpstream.formats.interface import Format, Preview, Reader, ReaderOptions, StatsComputer, WholeGame

__all__ = ["Format", "Preview", "Reader", "ReaderOptions", "StatsComputer", "WholeGame"]
