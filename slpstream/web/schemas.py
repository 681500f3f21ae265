"""The JSON responses of the HTTP API as types, which are encoded and from which `/openapi.json` is generated.

Unknown values are left out. Times are RFC 3339 in UTC. The names of the classes are those of the schemas in the
description, so renaming a class changes the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from slpstream.model.query_problem import QueryProblem
from slpstream.model.setup import CodeList
from slpstream.model.summary import GameSummary

GameId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="32 hex digits.")]
Moment = Annotated[str, Meta(description="Date and time, RFC 3339.", extra_json_schema={"format": "date-time"})]
PlayerIndex = Annotated[int, Meta(description="The port, counted from 0.")]


class Schema(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Base of the responses: camelCase names, unknown values left out."""


class Problem(msgspec.Struct):
    """Problem details (RFC 9457)."""

    type: Annotated[str, Meta(description="Always `about:blank`: the status is the type.")]
    status: Annotated[int, Meta(description="HTTP status.", ge=400, le=599)]
    detail: Annotated[str, Meta(description="What went wrong, for people.")]
    error_id: Annotated[str | UnsetType, Meta(description="With status 500: the id of the error in the log.")] = (
        msgspec.field(name="errorId", default=UNSET)
    )
    problems: Annotated[
        list[QueryProblem] | UnsetType,
        Meta(description="The mistakes in `query`, each with its place: the number of characters before it."),
    ] = UNSET


class Player(Schema, kw_only=True):
    """A player. `character`, `color` and `team` have the values of the settings."""

    index: PlayerIndex
    name: Annotated[
        str | None,
        Meta(description="The name to show: the operator's, that of the seat, or that of the replay, as in the set."),
    ] = None
    code: Annotated[str | None, Meta(description="Connect code.")] = None
    tag: Annotated[str | None, Meta(description="In-game name tag.")] = None
    port: int | None = None
    character: Any = None
    color: Any = None
    team: int | None = None
    human: bool | None = None


class GameItem(Schema, kw_only=True):
    """One game in a list."""

    game_id: GameId
    format: str
    station: Annotated[
        str, Meta(description="The station that was asked for, or else that of the file with most of the game.")
    ]
    stations: Annotated[list[str], Meta(description="All stations that have a file of the game.")]
    started_at: Annotated[
        Moment, Meta(description="When it began by its own time: the clock of the console, or the file.")
    ]
    arrived_at: Annotated[
        Moment | None,
        Meta(
            description="When this daemon saw its first bytes arrive, by its own clock; left out for games that it did "
            "not see arrive. Lists are ordered by this time where it is known, and by `startedAt` otherwise."
        ),
    ] = None
    ended_at: Annotated[
        Moment | None,
        Meta(
            description="When this daemon saw it end, by its own clock; for games that it did not see end, the last "
            "write to the file. Left out until then. A gateway computes it from `startedAt`."
        ),
    ] = None
    in_progress: Annotated[bool, Meta(description="The game is being played now at `station`.")]
    players: list[Player]
    setup: Annotated[
        dict[str, Any], Meta(description="The settings that say where the game takes place: `stageId`, `track`, ...")
    ]
    winners: Annotated[list[PlayerIndex], Meta(description="Player indices; empty until the game has ended.")]
    reason: Annotated[str | None, Meta(description="How the game ended, as in `game_end`; left out until then.")] = None
    last_frame: int | None = None
    duration_seconds: float | None = None
    standings: Annotated[
        Any, Meta(description="`stocks` and `percent` at the end, by player index; left out if unknown.")
    ] = None
    summary: Annotated[GameSummary, Meta(description="The game in words that are the same for every format.")]


def described(summary: GameSummary, names: Mapping[int, str] = MappingProxyType({})) -> dict[str, Any]:
    """Return those fields of `GameItem` that come from the summary. `names` were given to players, by index."""
    players = [
        Player(
            index=player.index,
            name=names.get(player.index) or player.shown_name or None,
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


class GameList(Schema, kw_only=True):
    """A page of games, newest first."""

    games: list[GameItem]
    next: Annotated[str | None, Meta(description="`cursor` of the next page; left out on the last one.")] = None


class GameFile(Schema, kw_only=True):
    """A replay file of the game."""

    name: Annotated[str, Meta(description="File name without its folder.")]
    station: str
    modified_at: Moment
    size_bytes: int


class GameLinks(Schema, kw_only=True):
    """URLs of related resources, relative to the server."""

    self: str
    frames: str
    stats: str
    replay: str
    file: Annotated[
        str | None,
        Meta(
            description="The replay under a unique name that ends in `.slp`, for programs that keep downloads by their "
            "name. A game that may still grow gets another name later. Only for Slippi."
        ),
    ] = None
    launcher: Annotated[
        str | None, Meta(description="Opens the replay in the Slippi Launcher. Left out where there is no `file`.")
    ] = None
    events: str


class Game(GameItem, kw_only=True):
    """One game in full."""

    rate: Annotated[list[int], Meta(description="Frames per second, as a fraction.", min_length=2, max_length=2)]
    settings: Annotated[Any, Meta(description="As in `game_start`.")]
    metadata: Annotated[Any, Meta(description="As in `metadata`.")] = None
    end: Annotated[Any, Meta(description="As in `game_end`.")] = None
    stats_summary: Annotated[
        Any, Meta(description="`overall` and the plain values of the last stats; left out until they are computed.")
    ] = None
    codes: Annotated[
        CodeList | None,
        Meta(description="The codes that were loaded into the game, its Gecko list; left out if no file has them."),
    ] = None
    files: Annotated[
        list[GameFile],
        Meta(
            description="The file that has most of the game comes first and is served as the replay: one with the end "
            "and the metadata before others, then the larger one, then the newer one."
        ),
    ]
    links: GameLinks


class HighlightLinks(Schema, kw_only=True):
    """URLs of related resources, relative to the server except for `launcher`."""

    game: str
    replay: str
    file: Annotated[
        str | None, Meta(description="The replay under a unique name, see `GameLinks`. Only for Slippi.")
    ] = None
    launcher: Annotated[
        str | None,
        Meta(description="Opens the replay in the Slippi Launcher, two seconds before the highlight. Only for Slippi."),
    ] = None


class FrameList(Schema, kw_only=True):
    """A page of frames, in order."""

    frames: Annotated[list[Any], Meta(description="The `frame` of each `frame` message.")]
    next: Annotated[int | None, Meta(description="`from` of the next page; left out on the last one.")] = None


class Station(Schema, kw_only=True):
    """A station."""

    id: str
    name: str
    state: Annotated[str, Meta(description="`idle`, `playing`, `stalled` or `offline`.")]
    reason: str
    starting: Annotated[
        bool,
        Meta(description="The station is `offline` only because its folder has not been searched yet; else left out."),
    ] = False
    demo: Annotated[bool, Meta(description="The station plays a made-up match and is removed after it.")] = False
    discovered: Annotated[
        bool,
        Meta(description="The station was made for a console that has announced itself; an operator can remove it."),
    ] = False
    subscribers: int
    files: Annotated[dict[str, int], Meta(description="`inProgress` and `finished`.")]
    watching: Annotated[
        str | None,
        Meta(
            description="How changes of files are noticed: `inotify` (Linux), `directory changes` (Windows), `kqueue` "
            "(macOS), `watchdog` (other systems), or `polling`. A gateway leaves it out."
        ),
    ] = None
    degraded: Annotated[Any, Meta(description="Why changes may be noticed late.")] = None
    game: Annotated[
        Any,
        Meta(
            description="The current game: `gameId`, `format`, `settings`, `summary`, `cursor`, `inProgress`, and "
            "`lastFrame`, which is null before its first frame."
        ),
    ] = None


class Recording(Schema, kw_only=True):
    """A replay file that is not being written."""

    file: str
    modified_at: Moment
    size_bytes: int


class OneStation(Station, kw_only=True):
    """A station with its newest files."""

    recordings: list[Recording]


class StationList(Schema, kw_only=True):
    """All stations."""

    stations: list[Station]


class Health(Schema, kw_only=True):
    """The daemon is alive."""

    status: str


class Reloaded(Schema, kw_only=True):
    """The configuration was read again."""

    changed: Annotated[list[str], Meta(description="The keys whose new values apply now.")]
    needs_restart: Annotated[list[str], Meta(description="Changed keys that keep their old values until a restart.")]


class Readiness(Schema, kw_only=True):
    """Whether all parts of the daemon work."""

    status: Annotated[str, Meta(description="`ready` or `not ready`.")]
    missing: Annotated[list[str], Meta(description="The parts that do not work, for people.")]
    starting: Annotated[
        list[str], Meta(description="Stations whose folder has not been searched yet; left out when there are none.")
    ] = []
