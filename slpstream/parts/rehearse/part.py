"""Declares the command `rehearse`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="rehearse",
    docs="production/index.md",
    commands=[
        Command(
            "rehearse", "Show what a configuration would send, without sending.", "slpstream.parts.rehearse.cli:command"
        )
    ],
)
