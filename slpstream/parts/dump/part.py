"""Declares the command `dump`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="dump",
    commands=[
        Command("dump", "Print the log messages of a replay as JSON lines.", "slpstream.parts.dump.cli:command"),
    ],
)
