"""`/v1/games` and what is below it: lists, one game, its frames, its stats, its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, BinaryIO, NamedTuple, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, Parameters, json_answer
from slpstream.web.file_answer import FileAnswer, disposition

MAX_GAMES = 200
MAX_FRAMES = 1200
_GAME = {"gameId": schemas.GameId}
_NOT_FOUND = {404: "No such game."}
_FINAL = {304: "Not changed; for games that are over."}
_FRAME_BOUND = 10_000_000

_Name = Annotated[str, Meta(min_length=1, max_length=200)]
_Time = Annotated[
    str,
    Meta(extra_json_schema={"anyOf": [{"format": "date-time"}, {"format": "date"}]}, max_length=40),
]
_FrameNumber = Annotated[int, Meta(ge=-_FRAME_BOUND, le=_FRAME_BOUND)]


class ListParameters(Parameters, frozen=True):
    """Of `/v1/games`."""

    station: Annotated[_Name | UnsetType, Meta(description="Only games of this station.")] = UNSET
    player: Annotated[
        _Name | UnsetType,
        Meta(description="Only games of a player: display name, connect code or tag, without regard to case."),
    ] = UNSET
    format: Annotated[_Name | UnsetType, Meta(description="Only games of this format: `slippi`, `gci`, ...")] = UNSET
    since: Annotated[
        _Time | UnsetType, Meta(description="Only games that began then or later; RFC 3339, or a day.")
    ] = UNSET
    until: Annotated[_Time | UnsetType, Meta(description="Only games that began before; RFC 3339, or a day.")] = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_GAMES, description="How many at most.")] = 50
    cursor: Annotated[
        Annotated[str, Meta(pattern=r"^-?[0-9]{1,15}\.[0-9a-f]{32}$")] | UnsetType,
        Meta(description="Where the page begins: `next` of the page before."),
    ] = UNSET


class FramesParameters(Parameters, frozen=True, rename={"first": "from", "last": "to"}):
    """Of `/v1/games/{gameId}/frames`."""

    first: Annotated[
        _FrameNumber | UnsetType, Meta(description="The first frame number; default: the first there is.")
    ] = UNSET
    last: Annotated[
        _FrameNumber | UnsetType, Meta(description="The last frame number; default: the last there is.")
    ] = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_FRAMES, description="How many frames at most.")] = MAX_FRAMES
    fields: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[A-Za-z0-9_]{1,40}(\.[A-Za-z0-9_]{1,40}){0,3}(,[A-Za-z0-9_]{1,40}(\.[A-Za-z0-9_]{1,40}){0,3}){0,31}$"
            ),
        ]
        | UnsetType,
        Meta(description="Cuts the frames down, as in a subscription: `post.percent,post.stocksRemaining`."),
    ] = UNSET


class ListQuery(NamedTuple):
    """Which games. Times are Unix times in milliseconds, `since_ms` included, `until_ms` not; `after` is the start time
    and the id of the last game of the page before."""

    station: str | None
    player: str | None
    format: str | None
    since_ms: int | None
    until_ms: int | None
    after: tuple[int, str] | None
    limit: int


class FramesQuery(NamedTuple):
    """Which frames; both ends included, `None` for the first or last there is."""

    first: int | None
    last: int | None
    limit: int
    fields: Sequence[str] | None


class StatsFound(NamedTuple):
    """The stats of a game, encoded."""

    body: bytes
    final: bool


class FramesFound(NamedTuple):
    """Some frames, encoded, and the number of the next one."""

    frames: Sequence[bytes]
    next: int | None
    final: bool


class ReplayFile(NamedTuple):
    """A file that is open for reading; whoever gets it closes it."""

    name: str
    file: BinaryIO
    size_bytes: int
    modified_seconds: float


class Games(Protocol):
    """Who knows the games. `None` is the answer when there is no such game."""

    async def games(self, query: ListQuery) -> tuple[list[schemas.GameItem], tuple[int, str] | None]:
        """A page, and the last game of it when there is another page."""

    async def game(self, game_id: str) -> schemas.Game | None:
        """One game."""

    async def frames(self, game_id: str, query: FramesQuery) -> FramesFound | None:
        """Some of its frames."""

    async def stats(self, game_id: str) -> StatsFound | None:
        """Its stats, at its end or the newest; `None` too when it has none."""

    async def replay(self, game_id: str) -> ReplayFile | None:
        """Its newest file; `None` too when that is gone."""


def endpoints(games: Games) -> list[Endpoint]:
    """The paths of this module."""

    async def list_games(request: Request, wanted: ListParameters) -> Response:
        query = ListQuery(
            _given(wanted.station),
            _given(wanted.player),
            _given(wanted.format),
            _unix_ms("since", wanted.since),
            _unix_ms("until", wanted.until),
            None if wanted.cursor is UNSET else _place(wanted.cursor),
            wanted.limit,
        )
        found, last = await games.games(query)
        following = None if last is None else f"{last[0]}.{last[1]}"
        return await json_answer(request, schemas.GameList(games=found, next=following))

    async def one_game(request: Request, _: Parameters) -> Response:
        game = await games.game(_game_id(request))
        if game is None:
            raise _no_such_game(request)
        return await json_answer(request, game, final=game.reason is not None and not game.in_progress)

    async def frames(request: Request, wanted: FramesParameters) -> Response:
        fields = _given(wanted.fields)
        query = FramesQuery(
            None if wanted.first is UNSET else wanted.first,
            None if wanted.last is UNSET else wanted.last,
            wanted.limit,
            None if fields is None else fields.split(","),
        )
        found = await games.frames(_game_id(request), query)
        if found is None:
            raise _no_such_game(request)
        raws = [msgspec.Raw(frame) for frame in found.frames]
        return await json_answer(request, schemas.FrameList(frames=raws, next=found.next), final=found.final)

    async def stats(request: Request, _: Parameters) -> Response:
        found = await games.stats(_game_id(request))
        if found is None:
            raise HTTPException(404, f"no stats of a game {_shown(request)}")
        return await json_answer(request, msgspec.Raw(found.body), final=found.final)

    async def replay(request: Request, _: Parameters) -> Response:
        found = await games.replay(_game_id(request))
        if found is None:
            raise HTTPException(404, f"no replay of a game {_shown(request)}")
        headers = {"content-type": "application/octet-stream", "content-disposition": disposition(found.name)}
        return FileAnswer(request, found.file, found.size_bytes, found.modified_seconds, headers)

    return [
        Endpoint(
            "/v1/games", "listGames", "The games that are known, newest first.", list_games, schemas.GameList,
            parameters=ListParameters,
        ),
        Endpoint(
            "/v1/games/{gameId}", "getGame", "One game: settings, players, how it ended, where to find more.",
            one_game, schemas.Game, in_path=_GAME, statuses=_NOT_FOUND | _FINAL,
        ),
        Endpoint(
            "/v1/games/{gameId}/frames", "getFrames", "Frames of a game as they stayed: each number once, in order.",
            frames, schemas.FrameList,
            parameters=FramesParameters, in_path=_GAME, statuses=_NOT_FOUND | _FINAL,
        ),
        Endpoint(
            "/v1/games/{gameId}/stats", "getStats",
            "The stats of a game (slippi-js `StatsType`): at its end, or the newest of one that is running.",
            stats, dict, in_path=_GAME, statuses=_NOT_FOUND | _FINAL,
        ),
        Endpoint(
            "/v1/games/{gameId}/replay", "getReplay",
            "The file; of a running game what is there.",
            replay, media_type="application/octet-stream", in_path=_GAME,
            statuses=_NOT_FOUND | {206: "A part of the file.", 304: "Not changed.", 416: "No such range."},
            headers={"Range": "One range of bytes."},
        ),
    ]  # fmt: skip


def _given(value: str | UnsetType) -> str | None:
    return None if value is UNSET else value


def _game_id(request: Request) -> str:
    game_id: str = request.path_params["gameId"]
    if not re.fullmatch("[0-9a-f]{32}", game_id):
        raise _no_such_game(request)
    return game_id


def _shown(request: Request) -> str:
    shown: str = request.path_params["gameId"]
    return shown[:80]


def _no_such_game(request: Request) -> HTTPException:
    return HTTPException(404, f"no such game: {_shown(request)}")


def _place(cursor: str) -> tuple[int, str]:
    started_ms, _, game_id = cursor.partition(".")
    return int(started_ms), game_id


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _unix_ms(name: str, text: str | UnsetType) -> int | None:
    """A time of the query. A day begins at midnight UTC."""
    if text is UNSET:
        return None
    try:
        moment = datetime.fromisoformat(text.upper().replace(" ", "+"))  # a `+` in a query that was not escaped
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise HTTPException(422, f"{name}: expected a date and time as in RFC 3339, or a day") from None
