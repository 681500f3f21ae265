"""Declares the command `find`, and the endpoint `/v1/search`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="find",
    endpoints="slpstream.parts.find.endpoints:endpoints",
    commands=[
        Command(
            "find", "Find games by players, characters, stage, length and date.", "slpstream.parts.find.cli:command"
        ),
    ],
)
