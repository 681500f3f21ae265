"""Declares the command `play`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="play",
    commands=[
        Command("play", "Print a range of frames of a replay or a replay log.", "slpstream.parts.play.cli:command"),
    ],
)
