"""Declares the command `import-pictures`, and the list of the user's own pictures."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="pictures",
    routes="slpstream.parts.pictures.own_pictures:routes",
    commands=[
        Command(
            "import-pictures",
            "Copy the pictures of another stream tool for the overlay.",
            "slpstream.parts.pictures.cli:command",
        )
    ],
)
