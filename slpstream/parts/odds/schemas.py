"""The JSON of `/v1/games/{gameId}/odds`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from slpstream.parts.odds.turning_points import TurningPoint
from slpstream.web.schemas import GameId, PlayerIndex, Schema


class OddsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The query parameters of the endpoint."""

    after: Annotated[int | UnsetType, Meta(description="Only the points after this frame.")] = UNSET


class OddsPoint(Schema, kw_only=True):
    """The odds in one frame."""

    frame: int
    odds: Annotated[float, Meta(description="The chance of the first player to win, from 0 to 1.")]
    stocks: Annotated[list[int], Meta(description="The stocks of both players.")]


class SentOdds(Schema, kw_only=True):
    """The odds in one frame, as messages have them."""

    game_id: GameId
    frame: int
    frame_cursor: Annotated[str, Meta(description="The cursor of the frame in the `finalized` log.")]
    players: Annotated[list[PlayerIndex], Meta(description="The two players. The odds are those of the first one.")]
    odds: Annotated[float, Meta(description="The chance of the first player to win, from 0 to 1.")]
    stocks: Annotated[list[int], Meta(description="The stocks of both players.")]


class SetTurningPoint(Schema, kw_only=True):
    """One swing of the odds in a game of a set."""

    game_id: GameId
    turning_point: TurningPoint


class SetTurningPoints(Schema, kw_only=True):
    """The turning points of a set."""

    set_id: Annotated[GameId | None, Meta(description="Left out before its first game.")] = None
    final: Annotated[bool, Meta(description="False if the odds of one of its games are not complete yet.")]
    turning_points: Annotated[
        list[SetTurningPoint],
        Meta(description="The largest swings of its games that count, beginning with the largest."),
    ]


class GameOddsFound(Schema, kw_only=True):
    """The odds of a game."""

    game_id: GameId
    final: Annotated[bool, Meta(description="False while the game is played: there will be more.")]
    without_odds: Annotated[
        str, Meta(description="Why the game has no odds, such as `a game of teams`. Left out if it can have them.")
    ] = ""
    players: Annotated[list[PlayerIndex], Meta(description="The two players. The odds are those of the first one.")]
    points: Annotated[
        list[OddsPoint], Meta(description="Twice a second of game time, and in each frame in which a stock was lost.")
    ]
    turning_points: Annotated[list[TurningPoint], Meta(description="The largest swings, beginning with the largest.")]
