"""Declares the command `stats`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="stats",
    commands=[
        Command("stats", "Show the stats of games.", "slpstream.parts.stats.cli:command"),
    ],
)
