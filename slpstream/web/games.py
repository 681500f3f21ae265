"""`/v1/games` and the paths below it: the list, and for each game its description, frames, stats and file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, BinaryIO, NamedTuple, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.query_problem import QueryProblem
from slpstream.store.games_query import GamesQuery
from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, NoParameters, json_response
from slpstream.web.file_response import OpenFileResponse, disposition
from slpstream.web.game_path import GAME_IN_PATH, game_in_path, no_such_game, shown_id
from slpstream.web.launcher import launcher_link

MAX_FRAMES = 1200
_FIRST_FRAME = -123
_REPLAY_NAME = "[A-Za-z0-9_]{1,80}"
_NAMED_REPLAY = {
    **GAME_IN_PATH,
    "name": Annotated[str, Meta(pattern=f"^{_REPLAY_NAME}$", description="From the links of the game.")],
}
_NOT_FOUND = {404: "No such game."}
_REPLAY_STATUSES = {206: "Part of the file.", 304: "Not modified.", 416: "Range not satisfiable."}
_FINAL = {304: "Not modified; only for games that have ended."}
_MAX_FRAME_NUMBER = 10_000_000
_PATH = r"[A-Za-z0-9_]{1,40}(\.[A-Za-z0-9_]{1,40}){0,3}"
_PATHS = re.compile(rf"{_PATH}(,{_PATH}){{0,31}}")

_FrameNumber = Annotated[int, Meta(ge=-_MAX_FRAME_NUMBER, le=_MAX_FRAME_NUMBER)]


class FieldPaths(tuple[str, ...]):
    """The fields of a frame that should be kept, as in a subscription."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> FieldPaths:
        """Split a comma-separated list. Raises `ValueError` if this isn't possible."""
        if not _PATHS.fullmatch(text):
            raise ValueError("expected at most 32 names of fields, like `post.percent,post.stocksRemaining`")
        return cls(text.split(","))


class FramesQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename={"first": "from", "last": "to"}):
    """The range of frames to return, both ends included."""

    first: Annotated[
        _FrameNumber | UnsetType, Meta(description="First frame number; by default the first of the game.")
    ] = UNSET
    last: Annotated[
        _FrameNumber | UnsetType, Meta(description="Last frame number; by default the last of the game.")
    ] = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_FRAMES, description="Maximum number of frames.")] = MAX_FRAMES
    fields: Annotated[
        Annotated[FieldPaths, Meta(extra_json_schema={"pattern": f"^{_PATHS.pattern}$"})] | UnsetType,
        Meta(description="Keeps only these fields, as in a subscription: `post.percent,post.stocksRemaining`."),
    ] = UNSET


class EncodedStats(NamedTuple):
    """The stats of a game as JSON."""

    body: bytes
    final: bool


class EncodedFrames(NamedTuple):
    """A page of frames (each of them as JSON), and the number of the first frame after it."""

    frames: Sequence[bytes]
    next: int | None
    final: bool


class ReplayFile(NamedTuple):
    """A replay that is open for reading. The receiver has to close it."""

    name: str
    file: BinaryIO
    size_bytes: int
    modified_seconds: float


class InvalidQuery(HTTPException):
    """The `query` of a list of games contains mistakes."""

    def __init__(self, problems: Sequence[QueryProblem]) -> None:
        first = problems[0]
        super().__init__(422, f"query: {first.message}, at character {first.position + 1}")
        self.problems = problems


class Games(Protocol):
    """The games of a daemon or a gateway, in the form in which the web server sees them."""

    async def games(self, query: GamesQuery) -> schemas.GameList:
        """Return a page of games. Raises `InvalidQuery` if the query contains mistakes."""

    async def game(self, game_id: str) -> schemas.Game | None:
        """Return one game, or `None` if it is unknown."""

    async def frames(self, game_id: str, query: FramesQuery) -> EncodedFrames | None:
        """Return a page of a game's frames, or `None` if the game is unknown."""

    async def stats(self, game_id: str) -> EncodedStats | None:
        """Return the stats of a game, either final or the newest ones.

        Returns `None` if the game is unknown or doesn't have any.
        """

    async def replay(self, game_id: str) -> ReplayFile | None:
        """Open the file with most of a game. Returns `None` if the game is unknown or its files are gone."""


def endpoints(games: Games) -> list[Endpoint]:
    """Make the endpoints of this module."""

    async def list_games(request: Request, query: GamesQuery) -> Response:
        return await json_response(request, await games.games(query))

    async def one_game(request: Request, _: NoParameters) -> Response:
        game = await games.game(game_in_path(request))
        if game is None:
            raise no_such_game(request)
        if game.links.file is not None:
            launcher = launcher_link(request, game.links.file, _FIRST_FRAME)
            links = msgspec.structs.replace(game.links, launcher=launcher)
            game = msgspec.structs.replace(game, links=links)
        return await json_response(request, game, final=game.reason is not None and not game.in_progress)

    async def frames(request: Request, query: FramesQuery) -> Response:
        found = await games.frames(game_in_path(request), query)
        if found is None:
            raise no_such_game(request)
        page = schemas.FrameList(frames=[msgspec.Raw(frame) for frame in found.frames], next=found.next)
        return await json_response(request, page, final=found.final)

    async def stats(request: Request, _: NoParameters) -> Response:
        found = await games.stats(game_in_path(request))
        if found is None:
            raise HTTPException(404, f"no stats for game {shown_id(request)}")
        return await json_response(request, msgspec.Raw(found.body), final=found.final)

    async def replay(request: Request, _: NoParameters) -> Response:
        if not re.fullmatch(_REPLAY_NAME, request.path_params.get("name", "replay")):
            raise HTTPException(404, f"no such replay of game {shown_id(request)}")
        found = await games.replay(game_in_path(request))
        if found is None:
            raise HTTPException(404, f"no replay of game {shown_id(request)}")
        name = f"Game_{request.path_params['name']}.slp" if "name" in request.path_params else found.name
        headers = {"content-type": "application/octet-stream", "content-disposition": disposition(name)}
        return OpenFileResponse(request, found.file, found.size_bytes, found.modified_seconds, headers)

    return [
        Endpoint(
            "/v1/games", "listGames", "The known games, newest first.", list_games, schemas.GameList,
            parameters=GamesQuery,
        ),
        Endpoint(
            "/v1/games/{gameId}", "getGame", "One game: settings, players, how it ended, links.",
            one_game, schemas.Game, in_path=GAME_IN_PATH, statuses=_NOT_FOUND | _FINAL,
        ),
        Endpoint(
            "/v1/games/{gameId}/frames", "getFrames", "Final frames of a game: each number once, in order.",
            frames, schemas.FrameList,
            parameters=FramesQuery, in_path=GAME_IN_PATH, statuses=_NOT_FOUND | _FINAL,
        ),
        Endpoint(
            "/v1/games/{gameId}/stats", "getStats",
            "The stats of a game (slippi-js `StatsType`): final, or the newest of a running game.",
            stats, dict, in_path=GAME_IN_PATH, statuses=_NOT_FOUND | _FINAL,
        ),
        Endpoint(
            "/v1/games/{gameId}/replay", "getReplay",
            "The replay file; of a running game, the bytes written so far.",
            replay, media_type="application/octet-stream", in_path=GAME_IN_PATH,
            statuses=_NOT_FOUND | _REPLAY_STATUSES, headers={"Range": "One range of bytes."},
        ),
        Endpoint(
            "/v1/games/{gameId}/Game_{name}.slp", "getNamedReplay",
            "The same under a unique name, for programs that keep downloads by name, like the Slippi Launcher.",
            replay, media_type="application/octet-stream", in_path=_NAMED_REPLAY,
            statuses=_NOT_FOUND | _REPLAY_STATUSES, headers={"Range": "One range of bytes."},
        ),
    ]  # fmt: skip
