"""Lookups in the tables of Melee's names that only pages and other programs use: costumes, items, action states."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Final

from slpstream.formats.name_tables import names_of, read_table
from slpstream.formats.slippi.names import FOLDER, characters, internal_characters

FIRST_OWN_STATE: Final = 0x155
"""The first action state id whose meaning depends on the fighter."""

items = names_of(FOLDER, "items")


def internal_character_name(internal_id: int) -> str | None:
    """Name of an internal character id (0 to 32), as in Post-Frame Update. Popo and Nana have one each."""
    character = internal_characters().get(internal_id)
    return character.name if character else None


def costume_name(external_id: int, costume_index: int) -> str | None:
    """Name of a costume. The index (0 to 5) counts the costumes of one character, so by itself it is not a colour."""
    character = characters().get(external_id)
    return _at(character.costumes, costume_index) if character else None


def item_name(type_id: int) -> str | None:
    """Name of an item type (0x00 to 0xEC, with gaps), as in Item Update."""
    return items().get(type_id)


def action_state_name(state_id: int, internal_character_id: int | None = None) -> str | None:
    """Name of an action state. From 0x155 on it depends on the fighter, so the internal character id is needed."""
    if state_id < FIRST_OWN_STATE:
        return _at(common_action_states(), state_id)
    if internal_character_id is None:
        return None
    return _at(own_action_states(internal_character_id), state_id - FIRST_OWN_STATE)


def common_action_states() -> Sequence[str]:
    """Names of the action states 0x000 to 0x154, which are the same for every fighter."""
    return _action_states()[0]


def own_action_states(internal_character_id: int) -> Sequence[str]:
    """Names of a fighter's own action states, from 0x155 on. Empty for the wireframes and for unknown ids."""
    return _action_states()[1].get(internal_character_id, ())


@functools.cache
def _action_states() -> tuple[Sequence[str], Mapping[int, Sequence[str]]]:
    """The common names, and each fighter's own by internal character id."""
    tables = read_table(FOLDER, "action_states")["tables"]
    names = {
        name: tuple(state for block in table["blocks"].values() for state in block) for name, table in tables.items()
    }
    own = {fighter: names[name] for name, table in tables.items() for fighter in table.get("fighters", ())}
    return names["common"], own


def _at(names: Sequence[str], index: int) -> str | None:
    # Not a plain subscript: a corrupt replay can have any number, and -1 would name the last one.
    return names[index] if 0 <= index < len(names) else None
