"""Declares the commands `pack` and `unpack`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="pack",
    commands=[
        Command(
            "pack", "Pack replays into replay logs, a twentieth of the size.", "slpstream.parts.pack.cli_pack:command"
        ),
        Command(
            "unpack", "Restore the replay from a replay log, byte for byte.", "slpstream.parts.pack.cli_unpack:command"
        ),
    ],
)
