"""Declares the command `reference`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="reference",
    commands=[
        Command("reference", "Print the reference pages.", "slpstream.parts.reference.cli:command"),
    ],
)
