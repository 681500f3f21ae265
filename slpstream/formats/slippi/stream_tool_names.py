"""The names that scoreboard tools have for the characters and costumes of Melee, from `stream_tool_names.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slpstream.formats.name_tables import rows_of

_ZELDA, _SHEIK = 18, 19


class Character(msgspec.Struct, frozen=True):
    """A character: its `name` in TournamentStreamHelper, and its `skins` in Melee Stream Tool, by costume index."""

    name: str
    skins: tuple[str, ...]


characters = rows_of(Path(__file__).parent, "stream_tool_names", Character)
"""By external id. Characters that you can't choose, and those of mods, are missing."""


def character_name(id: int | None) -> str | None:
    """Return the name of a character, or `None` if the scoreboard tools don't know it."""
    found = None if id is None else characters().get(id)
    return None if found is None else found.name


def stream_tool_names(id: int | None, costume: int) -> tuple[str, str] | None:
    """Return the character and skin in Melee Stream Tool, or `None` if it doesn't have this character.

    In this tool, names don't have periods, and Sheik is a skin of Zelda. If the costume is unknown, you get the default
    one.
    """
    found = None if id is None else characters().get(id)
    if found is None:
        return None
    skin = found.skins[costume] if 0 <= costume < len(found.skins) else found.skins[0]
    if id == _SHEIK:
        return characters()[_ZELDA].name, f"Sheik {skin}"
    return found.name.replace(".", ""), skin
