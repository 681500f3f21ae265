"""The columns of the layout `training`, and where each value comes from.

A row is one frame of a game between two players. You can tell the player and event of a value by its name: `p0` is the
player with the lower port, and `p1` is the other one. `pre` is the Pre-Frame Update, which contains the inputs that the
game has read in this frame, and `post` is the Post-Frame Update, with the state that it has computed from them. This
means that if you want the state *before* an input, you have to look at `post` in the row before. If you train a model
to choose inputs, make sure that it can't see the `post` values of the same row.

Flags are bytes, either 0 or 1. A value always has the same type, no matter which version a replay has. If the replay
lacks a field, or a character is absent, then floats are NaN for players and 0 for followers, and everything else is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from slpstream.formats.slippi.commands import FRAME_START, ITEM_UPDATE, POST_FRAME, PRE_FRAME
from slpstream.model.fields import BOOL, F32, I8, I16, I32, U8, U16, U32, Field, Table

MAX_ITEMS = 15
"""Slots for items. More than 15 items are never in play: the game itself has no room for them (observed)."""

PLAYERS = ("p0", "p1")

FOLLOWER_FIELDS = (
    "internal_character_id",
    "action_state_id",
    "position_x",
    "position_y",
    "facing_direction",
    "percent",
    "shield_size",
    "action_state_counter",
    "is_airborne",
    "jumps_remaining",
    "hurtbox_collision_state",
    "hitlag_remaining",
)
"""The fields of a follower's Post-Frame Update that are in a row."""

ITEM_FIELDS = ("type_id", "state", "position_x", "position_y", "velocity_x", "velocity_y", "owner")

_KEYS = frozenset({"frame", "player_index", "is_follower"})
_NOT_STATE = frozenset({"seed", "action_state_id", "position_x", "position_y", "facing_direction", "percent"})
"""Fields of the Pre-Frame Update with the state before the frame, which is in the previous row."""

_TYPES = {U8: "u1", I8: "i1", U16: "u2", I16: "i2", U32: "u4", I32: "i4", F32: "f4", BOOL: "u1"}


class Column(NamedTuple):
    """One column of the layout."""

    name: str
    dtype: str
    """Code of the numpy type, in the byte order of the machine: `f4`, `u1`, `u2`, `u4`, `i1`, `i4`."""
    doc: str
    unit: str = ""
    since: str = ""
    """The first version of replays that have the value, or empty for all."""
    source: str = ""
    """The event that the value comes from: `pre`, `post`, `follower`, `item`, or empty for the frame as a whole."""
    player: int = 0
    """0 for `p0`, 1 for `p1`; the slot for items."""
    field: str = ""
    """The field of that event."""


def _of_field(prefix: str, field: Field, source: str, player: int) -> Column:
    name = f"{prefix}_{field.name.replace('.', '_')}"
    return Column(name, _TYPES[field.kind], field.doc, field.unit, field.since, source, player, field.name)


def _fields(table: Table, *, only: tuple[str, ...] = (), without: frozenset[str] = _KEYS) -> list[Field]:
    by_name = {field.name: field for field in table.fields}
    if only:
        return [by_name[name] for name in only]
    return [field for name, field in by_name.items() if name not in without]


def _of_player(player: int) -> list[Column]:
    p = PLAYERS[player]
    return [
        Column(f"{p}_port", "u1", "Port of the player, from 1.", player=player),
        Column(f"{p}_exists", "u1", "Whether the player has a Post-Frame Update.", player=player),
        *(_of_field(f"{p}_post", field, "post", player) for field in _fields(POST_FRAME)),
        *(_of_field(f"{p}_pre", field, "pre", player) for field in _fields(PRE_FRAME, without=_KEYS | _NOT_STATE)),
        Column(f"{p}_follower_exists", "u1", "Whether the player has a follower (Nana).", player=player),
        *(
            _of_field(f"{p}_follower_post", field, "follower", player)
            for field in _fields(POST_FRAME, only=FOLLOWER_FIELDS)
        ),
    ]


def _of_item(slot: int) -> list[Column]:
    return [
        Column(f"item{slot}_exists", "u1", "Whether there is an item in this slot.", since="3.0.0", player=slot),
        *(_of_field(f"item{slot}", field, "item", slot) for field in _fields(ITEM_UPDATE, only=ITEM_FIELDS)),
    ]


COLUMNS: tuple[Column, ...] = (
    Column("frame", "i4", "Frame number. The first is -123; the timer starts at 0.", "frame number"),
    Column("stage_id", "u2", "Stage, numbered as in Game Start (external id)."),
    Column("seed", "u4", FRAME_START.fields[1].doc, since="2.2.0"),
    Column("randall_x", "f4", "Yoshi's Story: middle of the cloud; else 0.", "game units"),
    Column("randall_y", "f4", "Yoshi's Story: height of the cloud; else 0.", "game units"),
    Column("fod_left", "f4", "Fountain of Dreams: height of the left platform; else 0.", "game units", "3.18.0"),
    Column("fod_right", "f4", "Fountain of Dreams: height of the right platform; else 0.", "game units", "3.18.0"),
    *_of_player(0),
    *_of_player(1),
    *(column for slot in range(MAX_ITEMS) for column in _of_item(slot)),
)
"""All columns, in their order."""
