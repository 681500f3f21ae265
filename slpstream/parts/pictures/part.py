"""Declares the command `import-pictures`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="pictures",
    commands=[
        Command(
            "import-pictures",
            "Copy the pictures of another stream tool for the overlay.",
            "slpstream.parts.pictures.cli:command",
        )
    ],
)
