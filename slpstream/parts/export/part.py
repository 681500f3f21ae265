"""Declares the command `export`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="export",
    commands=[
        Command("export", "Write tables of replays as Parquet, Arrow or CSV.", "slpstream.parts.export.cli:command"),
    ],
)
