"""The JSON of `/v1/stations/{station}/matchup`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slpstream.model.summary import Thing
from slpstream.web.schemas import GameId, Moment, Schema

Pair = Annotated[list[int], Meta(description="A number for each player, in the order of `players`.")]


class SetResult(Schema, kw_only=True):
    """A set that a player has played."""

    set_id: GameId
    at: Annotated[Moment, Meta(description="When its first game began.")]
    opponent: Annotated[str, Meta(description="Left out if the opponent has no name.")] = ""
    score: Annotated[list[int], Meta(description="The score of the player, and that of the opponent.")]
    won: bool


class StageRecord(Schema, kw_only=True):
    """How often a player has played on a stage."""

    stage: Thing
    games: int
    won: int


class Worked(Schema, kw_only=True):
    """The character and the stage with which a player has won most games against the other."""

    character: Thing
    stage: Thing
    games: int
    won: int


class MatchupPlayer(Schema, kw_only=True):
    """A player, with figures from the newest games that count."""

    name: str
    code: Annotated[str, Meta(description="Connect code.")] = ""
    results: Annotated[
        list[SetResult], Meta(description="The last sets in the 12 hours before this one, beginning with the newest.")
    ]
    games: Annotated[int, Meta(description="How many games the figures below are from.")]
    average_seconds: Annotated[float | None, Meta(description="Average length of a game.")] = None
    openings_per_kill: Annotated[float | None, Meta(description="Left out if no game has stats.")] = None
    stages: Annotated[list[StageRecord], Meta(description="The stages that were played most.")]
    worked: Worked | None = None


class StageGames(Schema, kw_only=True):
    """How the games of both players on a stage ended."""

    stage: Thing
    won: Pair


class Meeting(Schema, kw_only=True):
    """A set of both players."""

    set_id: GameId
    at: Annotated[Moment, Meta(description="When its first game began.")]
    score: Pair


class HeadToHead(Schema, kw_only=True):
    """The earlier games of both players against each other."""

    sets: Annotated[Pair, Meta(description="The sets that each of them has won.")]
    games: Annotated[Pair, Meta(description="The games that each of them has won.")]
    limited: Annotated[
        bool, Meta(description="There are more games: only the newest ones are counted. Otherwise left out.")
    ] = False
    last: Annotated[Meeting | None, Meta(description="The newest set. Left out if there is none.")] = None
    stages: Annotated[list[StageGames], Meta(description="The stages that were played most.")]


class Matchup(Schema, kw_only=True):
    """The earlier games of the two players of a set."""

    set_id: Annotated[GameId | None, Meta(description="Left out while no game of the set has begun.")] = None
    without_matchup: Annotated[
        str, Meta(description="Why nothing is known, such as `a set of teams`. Left out if there is a matchup.")
    ] = ""
    players: Annotated[list[MatchupPlayer], Meta(description="Two players in the order of `sides`, or none.")]
    head_to_head: HeadToHead | None = None
