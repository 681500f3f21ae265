"""Declares the command `info`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="info",
    commands=[
        Command("info", "Show players, stage, length and result of replays.", "slpstream.parts.info.cli:command"),
    ],
)
