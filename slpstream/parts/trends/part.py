"""Declares the trends: the command `trends`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="trends",
    docs="data/index.md",
    commands=[
        Command("trends", "Show how a player's games change.", "slpstream.parts.trends.cli:command"),
    ],
)
