"""Declares the command `find`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="find",
    commands=[
        Command(
            "find", "Find games by players, characters, stage, length and date.", "slpstream.parts.find.cli:command"
        ),
    ],
)
