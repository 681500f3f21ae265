"""Declares the command `follow`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="follow",
    commands=[
        Command(
            "follow",
            "Print the log messages of a file that is still being written.",
            "slpstream.parts.follow.cli:command",
        ),
    ],
)
