"""The JSON answers of the HTTP API, as types: what is encoded, and what `/openapi.json` is made from.

A value that is not known is left out. Times are RFC 3339 in UTC.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from slpstream.model.summary import GameSummary

GameId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="32 hex digits.")]
Moment = Annotated[str, Meta(description="Date and time, RFC 3339.", extra_json_schema={"format": "date-time"})]
PlayerIndex = Annotated[int, Meta(description="The port, counted from 0.")]


class Answer(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Base of all: camelCase names, nothing that is not known."""


class Problem(msgspec.Struct):
    """What went wrong, as RFC 9457 has it."""

    type: Annotated[str, Meta(description="`about:blank`: the status says it all.")]
    status: Annotated[int, Meta(description="HTTP status.", ge=400, le=599)]
    detail: Annotated[str, Meta(description="For people.")]


class Player(Answer, kw_only=True):
    """Who played. `character`, `color` and `team` are as the settings have them."""

    index: PlayerIndex
    name: Annotated[str | None, Meta(description="Display name, tag, or what the format has.")] = None
    code: Annotated[str | None, Meta(description="Connect code.")] = None
    tag: Annotated[str | None, Meta(description="In-game name tag.")] = None
    port: int | None = None
    character: Any = None
    color: Any = None
    team: int | None = None
    human: bool | None = None


class GameItem(Answer, kw_only=True):
    """One game in a list."""

    game_id: GameId
    format: str
    station: Annotated[str, Meta(description="Where it was played: the station of its newest file.")]
    started_at: Moment
    in_progress: Annotated[bool, Meta(description="It is being played now.")]
    players: list[Player]
    setup: Annotated[
        dict[str, Any], Meta(description="What of the settings says where it was played: `stageId`, `track`, ...")
    ]
    winners: Annotated[list[PlayerIndex], Meta(description="Player indices; empty while it is not over.")]
    reason: Annotated[str | None, Meta(description="How it ended, as in `game_end`; left out while it has not.")] = None
    last_frame: int | None = None
    duration_seconds: float | None = None
    summary: Annotated[GameSummary, Meta(description="The game in words that are the same for every format.")]


def described(summary: GameSummary) -> dict[str, Any]:
    """The fields of `GameItem` that come from the summary."""
    players = [
        Player(
            index=player.index,
            name=player.shown_name or None,
            code=player.code or None,
            tag=player.tag or None,
            port=player.port,
            character=player.setup.get("character"),
            color=player.setup.get("color"),
            team=player.setup.get("team"),
            human=player.setup.get("human"),
        )
        for player in summary.players
    ]
    return {"players": players, "setup": summary.setup, "winners": summary.winners, "summary": summary}


class GameList(Answer, kw_only=True):
    """A page of games, newest first."""

    games: list[GameItem]
    next: Annotated[str | None, Meta(description="`cursor` of the next page; left out on the last one.")] = None


class GameFile(Answer, kw_only=True):
    """A replay with this game in it."""

    name: Annotated[str, Meta(description="Name of the file, without its folder.")]
    station: str
    modified_at: Moment
    size_bytes: int


class GameLinks(Answer, kw_only=True):
    """Where more is to be had; relative to the server."""

    self: str
    frames: str
    stats: str
    replay: str
    events: str


class Game(GameItem, kw_only=True):
    """One game."""

    stations: Annotated[list[str], Meta(description="All stations that have a file of it.")]
    rate: Annotated[list[int], Meta(description="Frames per second as a fraction.", min_length=2, max_length=2)]
    settings: Annotated[Any, Meta(description="As in `game_start`.")]
    metadata: Annotated[Any, Meta(description="As in `metadata`.")] = None
    end: Annotated[Any, Meta(description="As in `game_end`.")] = None
    stats_summary: Annotated[
        Any, Meta(description="`overall` and the plain values of the last stats; left out while nobody computed them.")
    ] = None
    files: Annotated[list[GameFile], Meta(description="Newest first; the newest is the one that counts.")]
    links: GameLinks


class FrameList(Answer, kw_only=True):
    """Some frames of a game, in order."""

    frames: Annotated[list[Any], Meta(description="The `frame` of each `frame` message.")]
    next: Annotated[int | None, Meta(description="`from` of the next page; left out when there is none (yet).")] = None


class Station(Answer, kw_only=True):
    """One setup."""

    id: str
    name: str
    state: Annotated[str, Meta(description="`idle`, `playing`, `stalled` or `offline`.")]
    reason: str
    subscribers: int
    files: Annotated[dict[str, int], Meta(description="`inProgress` and `finished`.")]
    degraded: Annotated[Any, Meta(description="Why changes may be seen late.")] = None
    game: Annotated[
        Any,
        Meta(
            description="The current game: `gameId`, `format`, `settings`, `summary`, `cursor`, `inProgress`, and "
            "`lastFrame`, which is null before its first frame."
        ),
    ] = None


class Recording(Answer, kw_only=True):
    """A file that is not being written."""

    file: str
    modified_at: Moment
    size_bytes: int


class OneStation(Station, kw_only=True):
    """One setup, with its newest files."""

    recordings: list[Recording]


class StationList(Answer, kw_only=True):
    """All setups."""

    stations: list[Station]


class Health(Answer, kw_only=True):
    """The daemon is alive."""

    status: str


class Readiness(Answer, kw_only=True):
    """Whether everything works."""

    status: Annotated[str, Meta(description="`ready` or `not ready`.")]
    missing: Annotated[list[str], Meta(description="What does not work, for people.")]
