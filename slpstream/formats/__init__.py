"""Replay formats, which turn bytes into events and back without doing any I/O.

If you write a package that registers another format, import the names that you need from here (see
`docs/howto/add_a_format.md`).
"""

from slpstream.formats.interface import Format, Preview, Reader, ReaderOptions, StatsComputer, WholeGame

__all__ = ["Format", "Preview", "Reader", "ReaderOptions", "StatsComputer", "WholeGame"]
