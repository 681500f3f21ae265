"""Melee's characters and costumes as scoreboard tools call them, from `stream_tool_names.json`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import msgspec

from slpstream.model.prepared import prepared

_ZELDA, _SHEIK = 18, 19


class Character(msgspec.Struct, frozen=True):
    """A character. `name` is TournamentStreamHelper's, `skins` are Melee Stream Tool's, by costume index."""

    name: str
    skins: tuple[str, ...]


@prepared
class _Content(msgspec.Struct):
    rows: dict[int, Character]


@functools.cache
def characters() -> Mapping[int, Character]:
    """By external id. Characters that players cannot choose, and those of mods, are missing."""
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Content).rows


def character_name(id: int | None) -> str | None:
    """The name of a character; `None` for one that scoreboard tools do not know."""
    found = None if id is None else characters().get(id)
    return None if found is None else found.name


def stream_tool_names(id: int | None, costume: int) -> tuple[str, str] | None:
    """Character and skin in Melee Stream Tool; `None` for a character that it does not have.

    It has no periods in names, and Sheik is a skin of Zelda. An unknown costume is the default one.
    """
    found = None if id is None else characters().get(id)
    if found is None:
        return None
    skin = found.skins[costume] if 0 <= costume < len(found.skins) else found.skins[0]
    if id == _SHEIK:
        return characters()[_ZELDA].name, f"Sheik {skin}"
    return found.name.replace(".", ""), skin
