"""The names that belong to the ids in a Slippi replay: characters, stages, attacks and teams.

If there's no name for an id, you get `None`. A lookup never fails, because new builds of the game and mods use ids that
aren't in any table, and there's nothing wrong with their replays otherwise.

For characters, there are two kinds of numbers. In Game Start, you find the external id, which is the slot on the
character select screen. In Post-Frame Update and in the metadata, you find the internal id, which is the fighter in the
game. For example, Popo and Nana have one each.

There are some more tables in the folder that are only used by pages and other programs: `action_states.json`,
`items.json`, `enumerations.json` (enumerations and bit fields) and `swatches.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from slpstream.formats.name_tables import names_of, rows_of

FOLDER: Final = Path(__file__).parent
BELOW = -10.0
"""A player lower than this, in game units, is below the stage, wherever its ledges are. This and `PLATFORM` hold on
every stage whose ledges we know."""
PLATFORM = 5.0
"""Ground higher than this is a platform: the main ground of these stages is nearly level, at height 0."""


class Character(msgspec.Struct, frozen=True):
    """A slot on the character select screen. The `costumes` are by costume index, so the default one comes first."""

    name: str
    short_name: str
    costumes: tuple[str, ...]


class InternalCharacter(msgspec.Struct, frozen=True):
    """A fighter in the game, together with the slot on the character select screen to which it belongs."""

    name: str
    external_id: int
    landing_lag_frames: tuple[int, int, int, int, int] | None = None


class Move(msgspec.Struct, frozen=True):
    """An attack. These are the attacks that the game distinguishes for staling."""

    name: str
    short_name: str


class Outline(msgspec.Struct, frozen=True):
    """The geometry of a stage. `edge` is the x of the right ledge in game units; the left one is its mirror image."""

    edge: float


class Stage(msgspec.Struct, frozen=True):
    """A stage. If its ledges aren't symmetric, or move, then `outline` is `None`."""

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
physical_buttons = names_of(FOLDER, "enumerations", "physical_buttons")
"""By bit."""


def character_name(external_id: int) -> str | None:
    """Return the name of an external character id (0 to 32), as you find it in Game Start."""
    character = characters().get(external_id)
    return character.name if character else None


def landing_lag_frames(internal_id: int) -> tuple[int, int, int, int, int] | None:
    """Return how many frames it takes a fighter to land after an aerial without an L-cancel.

    There's one number each for a neutral, forward, back, up and down aerial.
    """
    character = internal_characters().get(internal_id)
    return character.landing_lag_frames if character else None


def stage_name(stage_id: int) -> str | None:
    """Return the name of a stage id, as you find it in Game Start. The ids from 0 to 85 have names."""
    stage = stages().get(stage_id)
    return stage.name if stage else None


def stage_edge(stage_id: int) -> float | None:
    """Return the x of the right ledge of the main platform in game units, or `None` if we don't know it."""
    stage = stages().get(stage_id)
    return stage.outline.edge if stage and stage.outline else None


def move_name(move_id: int) -> str | None:
    """Return the name of the attack that hit last (1 to 94). If there was none yet, the id is 0, which has no name."""
    move = moves().get(move_id)
    return move.name if move else None
