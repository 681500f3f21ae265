"""Names of what a Slippi replay has as ids: characters, costumes, stages, attacks, action states, items.

A lookup never fails: it returns `None` for an id without a name, since new builds of the game and mods use ids that no
table lists, and a replay with such an id is a good replay.

Characters have two numberings. Game Start has the external id, which is the slot on the character select screen.
Post-Frame Update and the metadata have the internal id, which is the fighter in the game: Popo and Nana have one each.

The folder also has tables that only pages and other programs use: `enumerations.json` (enumerations and bit fields) and
`swatches.json`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from slpstream.formats.name_tables import names_of, read_table, rows_of

FOLDER: Final = Path(__file__).parent

FIRST_OWN_STATE: Final = 0x155
"""The first action state id whose meaning depends on the fighter."""


class Character(msgspec.Struct, frozen=True):
    """A slot on the character select screen. `costumes` are in the order of the costume index, the default first."""

    name: str
    short_name: str
    costumes: tuple[str, ...]


class InternalCharacter(msgspec.Struct, frozen=True):
    """A fighter in the game, and the slot on the character select screen that the fighter comes from."""

    name: str
    external_id: int
    landing_lag_frames: tuple[int, int, int, int, int] | None = None


class Move(msgspec.Struct, frozen=True):
    """An attack, as the game counts attacks for staling."""

    name: str
    short_name: str


class Outline(msgspec.Struct, frozen=True):
    """Geometry of a stage, in game units: `edge` is the x of the right ledge, the left one is its mirror image."""

    edge: float


class Stage(msgspec.Struct, frozen=True):
    """A stage; `outline` is `None` where the ledges are not symmetric, or move."""

    name: str
    outline: Outline | None = None


characters = rows_of(FOLDER, "characters", Character)
"""By external id."""
internal_characters = rows_of(FOLDER, "internal_characters", InternalCharacter)
"""By internal id."""
stages = rows_of(FOLDER, "stages", Stage)
moves = rows_of(FOLDER, "moves", Move)
items = names_of(FOLDER, "items")
teams = names_of(FOLDER, "enumerations", "teams")
"""By team id; they have a meaning only in a game of teams."""


def character_name(external_id: int) -> str | None:
    """Name of an external character id (0 to 32), as in Game Start."""
    character = characters().get(external_id)
    return character.name if character else None


def internal_character_name(internal_id: int) -> str | None:
    """Name of an internal character id (0 to 32), as in Post-Frame Update. Popo and Nana have one each."""
    character = internal_characters().get(internal_id)
    return character.name if character else None


def landing_lag_frames(internal_id: int) -> tuple[int, int, int, int, int] | None:
    """Frames that a fighter's landing takes after a neutral, forward, back, up and down aerial without an L-cancel."""
    character = internal_characters().get(internal_id)
    return character.landing_lag_frames if character else None


def costume_name(external_id: int, costume_index: int) -> str | None:
    """Name of a costume. The index (0 to 5) counts the costumes of one character, so by itself it is not a colour."""
    character = characters().get(external_id)
    return _at(character.costumes, costume_index) if character else None


def stage_name(stage_id: int) -> str | None:
    """Name of a stage id (0 to 85 have names), as in Game Start."""
    stage = stages().get(stage_id)
    return stage.name if stage else None


def stage_edge(stage_id: int) -> float | None:
    """x of the right ledge of the main platform, in game units; `None` where it is not known."""
    stage = stages().get(stage_id)
    return stage.outline.edge if stage and stage.outline else None


def move_name(move_id: int) -> str | None:
    """Name of the attack that hit last (1 to 94). 0, no attack yet, has no name."""
    move = moves().get(move_id)
    return move.name if move else None


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
