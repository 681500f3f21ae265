"""Declares the command `reindex`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="reindex",
    commands=[
        Command("reindex", "Rebuild the index of games from the replays.", "slpstream.parts.reindex.cli:command"),
    ],
)
