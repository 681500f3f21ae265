"""Declares the command `sql`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="sql",
    docs="reference/columns.md",
    commands=[
        Command("sql", "Answer SQL over games, players, frames and conversions.", "slpstream.parts.sql.cli:command")
    ],
)
