"""Converts log messages to the input of the search. This is for programs that read a log and not a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.model.events import Frame, PackedEntry
from slpstream.model.messages import LogMessage
from slpstream.model.prepared import prepared


class SetupPlayer(msgspec.Struct, rename="camel"):
    """The part of a player's settings that names the player."""

    player_index: int
    port: int
    character_id: int
    team_id: int = 0
    display_name: str = ""
    nametag: str = ""
    connect_code: str = ""


@prepared
class GameSetup(msgspec.Struct, rename="camel"):
    """The part of a game's settings that the search needs."""

    stage_id: int
    players: list[SetupPlayer]
    is_teams: bool = False


class _Post(msgspec.Struct, rename="camel", gc=False):
    """A part of a Post-Frame Update in JSON, in which NaN is null.

    Infinities are null as well. If a bound holds for them in the columns of the file, it doesn't hold here. But no game
    writes infinities, and most frames of a log are undecoded bytes anyway.
    """

    internal_character_id: int
    action_state_id: int
    position_x: float | None
    position_y: float | None
    percent: float | None
    last_attack_landed: int
    last_hit_by: int
    stocks_remaining: int
    action_state_counter: float | UnsetType | None = UNSET
    is_airborne: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if None in (self.position_x, self.position_y, self.percent, self.action_state_counter):
            for name in ("position_x", "position_y", "percent", "action_state_counter"):
                if getattr(self, name) is None:
                    setattr(self, name, math.nan)


class _Player(msgspec.Struct, gc=False):
    post: _Post | UnsetType = UNSET


@prepared
class _Entry(msgspec.Struct, gc=False):
    players: dict[int, _Player] = {}


_decode_entry = msgspec.json.Decoder(_Entry).decode


def setup_of(settings: Mapping[str, Any]) -> GameSetup:
    """Return the setup of a game from the settings in its `game_start`.

    Raises `msgspec.ValidationError` if these are the settings of another format.
    """
    return msgspec.convert(settings, GameSetup)


def frame_of(message: LogMessage) -> Frame:
    """Return the frame in a `frame` message."""
    content = message.content
    number = 0 if message.frame is None else message.frame
    if isinstance(content, PackedEntry):
        return Frame(message.offset, number, 0, content)
    return Frame(message.offset, number, 0, _decode_entry(message.entry()))
