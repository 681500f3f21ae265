"""The contents of a scoreboard: a left and a right side, and values about their set. This module doesn't do any I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from slpstream.formats.slippi.stream_tool_names import character_name
from slpstream.model.prepared import prepared

CASTERS = 2
"""Casters with a separate value."""


class BoardPlayer(msgspec.Struct, frozen=True, rename="camel"):
    """A player, in the form of the payload of a `set` message."""

    player_index: int
    port: int
    name: str | None = None
    connect_code: str | None = None
    netplay_name: str | None = None
    tag: str | None = None
    sponsor: str | None = None
    pronouns: str | None = None
    seed: int | None = None
    character_id: int | None = None
    character_color: int | None = None

    @property
    def shown_name(self) -> str | None:
        """The name to show, or `None` if we don't know any."""
        return self.name or self.connect_code

    @property
    def names(self) -> frozenset[str]:
        """All names of the player, for comparisons in which case doesn't matter."""
        known = (self.name, self.connect_code, self.netplay_name, self.tag)
        return frozenset(name.casefold().strip() for name in known if name)


class BoardSide(msgspec.Struct, frozen=True):
    """One side: a player or a team."""

    score: int
    players: tuple[BoardPlayer, ...]
    result: Literal["W", "L"] | None
    """`None` until the set has a winner."""

    @property
    def name(self) -> str | None:
        """The names of the players, or `None` if we don't know all of them."""
        return _joined([player.shown_name for player in self.players])


class Board(msgspec.Struct, frozen=True):
    """The set of a station as a scoreboard shows it."""

    set_id: str | None
    """`None` before its first game."""
    left: BoardSide
    right: BoardSide
    best_of: int
    round: str | None = None
    event: str | None = None
    casters: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[BoardSide, BoardSide]:
        """Left and right."""
        return self.left, self.right


class _Side(msgspec.Struct):
    score: int
    players: list[int]


@prepared
class _Set(msgspec.Struct, rename="camel"):
    best_of: int
    players: list[BoardPlayer]
    sides: list[_Side]
    set_id: str | None = None
    winner: int | None = None
    round: str | None = None
    event: str | None = None
    casters: tuple[str, ...] = ()
    swapped: bool = False


def board_of(payload: Mapping[str, Any]) -> Board | None:
    """Return the board for the payload of a `set` message, or `None` if the set doesn't have exactly two sides."""
    played = msgspec.convert(payload, _Set)
    if len(played.sides) != 2:
        return None
    by_index = {player.player_index: player for player in played.players}
    left, right = [
        BoardSide(
            score=side.score,
            players=tuple(by_index[index] for index in side.players if index in by_index),
            result=None if played.winner is None else "W" if played.winner == place else "L",
        )
        for place, side in enumerate(played.sides)
    ]
    if played.swapped:
        left, right = right, left
    return Board(
        set_id=played.set_id,
        left=left,
        right=right,
        best_of=played.best_of,
        round=played.round,
        event=played.event,
        casters=played.casters,
    )


def values_of(board: Board) -> dict[str, str | None]:
    """Return all values of the given board as texts, by the names in `slpstream.config.SCOREBOARD_VALUES`.

    If we don't know a value, it is `None`. The left side has the number 1. In doubles, the values of both players are
    joined.
    """
    values: dict[str, str | None] = {}
    for number, side in enumerate(board.sides, 1):
        players = side.players
        of_side: dict[str, str | None] = {
            "name": side.name,
            "sponsor": _joined([player.sponsor for player in players]),
            "pronouns": _joined([player.pronouns for player in players]),
            "seed": _joined([None if player.seed is None else str(player.seed) for player in players]),
            "code": _joined([player.connect_code for player in players]),
            "port": _joined([str(player.port) for player in players]),
            "character": _joined([character_name(player.character_id) for player in players]),
            "score": str(side.score),
            "result": side.result,
        }
        values |= {f"{name}{number}": value for name, value in of_side.items()}
    values |= {"best_of": str(board.best_of), "round": board.round, "event": board.event}
    for number in range(1, CASTERS + 1):
        values[f"caster{number}"] = board.casters[number - 1] if number <= len(board.casters) else None
    values["casters"] = ", ".join(board.casters) or None
    values["winner"] = next((side.name for side in board.sides if side.result == "W"), None)
    return values


def _joined(texts: list[str | None]) -> str | None:
    known = [text for text in texts if text]
    return " & ".join(known) if known and len(known) == len(texts) else None
