"""Declares the command `find`, the endpoint `/v1/search`, and the function that parses queries for games."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="find",
    functions={"parse_game_query": "slpstream.parts.find.parsed_query:ParsedQuery"},
    endpoints="slpstream.parts.find.endpoints:endpoints",
    commands=[
        Command(
            "find", "Find games by players, characters, stage, length and date.", "slpstream.parts.find.cli:command"
        ),
    ],
)
