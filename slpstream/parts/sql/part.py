"""Declares the command `sql`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="sql",
    docs="data/sql.md",
    commands=[
        Command("sql", "Answer SQL over games, players, frames and conversions.", "slpstream.parts.sql.cli:command")
    ],
)
