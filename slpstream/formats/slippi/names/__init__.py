"""Names of the ids in a Slippi replay: characters, stages, attacks and teams.

A lookup never fails: it returns `None` for an id without a name, since new builds of the game and mods use ids that no
table lists, in replays that are otherwise good.

Characters have two numberings. Game Start has the external id, which is the slot on the character select screen.
Post-Frame Update and the metadata have the internal id, which is the fighter in the game: Popo and Nana have one each.

The folder also has tables that only pages and other programs use: `action_states.json`, `items.json`,
`enumerations.json` (enumerations and bit fields) and `swatches.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from slpstream.formats.name_tables import names_of, rows_of

FOLDER: Final = Path(__file__).parent


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
teams = names_of(FOLDER, "enumerations", "teams")
"""By team id; they have a meaning only in a game of teams."""
in_game_modes = names_of(FOLDER, "enumerations", "in_game_modes")
"""By `in_game_mode`, shifted down by five."""


def character_name(external_id: int) -> str | None:
    """Name of an external character id (0 to 32), as in Game Start."""
    character = characters().get(external_id)
    return character.name if character else None


def landing_lag_frames(internal_id: int) -> tuple[int, int, int, int, int] | None:
    """Frames that a fighter's landing takes after a neutral, forward, back, up and down aerial without an L-cancel."""
    character = internal_characters().get(internal_id)
    return character.landing_lag_frames if character else None


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
