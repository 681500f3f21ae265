"""Declares the command `start`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="start",
    commands=[
        Command("start", "Watch the usual folders and open the dashboard.", "slpstream.parts.start.cli:command"),
    ],
)
