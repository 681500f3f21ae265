"""Declares the commands `stats` and `trends`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="stats",
    commands=[
        Command("stats", "Show the stats of games.", "slpstream.parts.stats.cli:command"),
        Command("trends", "Show how a player's stats change.", "slpstream.parts.stats.cli_trends:command"),
    ],
)
