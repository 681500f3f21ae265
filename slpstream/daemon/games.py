"""The games of a daemon, which come from the index, from the stations, and from the replay files.

Lists and descriptions come from the index. Frames and stats are read from the log of the game, in the same way as
subscribers read it when they resume. Only the newest stats of a running game are in memory. Each file is checked before
it is served, because it may contain another game by now.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec
import trio
from msgspec import UNSET

from slpstream.daemon.game_codes import GameCodes
from slpstream.daemon.game_log import links_of, read_frames, read_highlights, stats_of
from slpstream.daemon.game_queries import parsed_query
from slpstream.game.log_reader import archived_game, peek_game_id
from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, LogMessage, timestamp
from slpstream.model.summary import GameSummary, stats_summary
from slpstream.sources.packed import open_replay_file, origin_of, replay_name
from slpstream.store import WHOLE, FileRow, GameIndex, GameRow, GamesQuery, StoredGame
from slpstream.stream.channel import Hub
from slpstream.stream.game import Game
from slpstream.system.member_paths import shown_name
from slpstream.web import launcher, schemas
from slpstream.web.games import EncodedFrames, EncodedStats, FramesQuery, ReplayFile

_OPEN_LOGS = 4
_KEPT_STATS = 16
_KEPT_DESCRIPTIONS = 512
_UNFINISHED = (None, "incomplete")
"""The end reasons of games that may continue. After a restart, stations also catch up with games that are over."""

Running = dict[tuple[str, str], bool]
"""The games in progress by station and id, each with whether the station is still catching up with its file."""
NamesOf = Callable[[Sequence[GameRow]], Awaitable[Mapping[str, Mapping[int, str]]]]
"""Returns the names that were given to the players of games, by game id and player index."""


async def _no_names(games: Sequence[GameRow]) -> Mapping[str, Mapping[int, str]]:
    return {}


class DaemonGames:
    """The games of one daemon, for the web server (see `web.games.Games`)."""

    def __init__(
        self,
        index: GameIndex,
        hub: Hub,
        limiter: trio.CapacityLimiter,
        folders: Callable[[], Sequence[Path]],
        codes: GameCodes,
        me: Sequence[str] = (),
        names_of: NamesOf = _no_names,
    ) -> None:
        """`limiter` limits the number of threads that read files. `folders` returns the folders that are being watched
        now. `me` are the connect codes that `@me` stands for in a query. `names_of` returns the names that were given
        to players.
        """
        self._index = index
        self._hub = hub
        self._limiter = limiter
        self._folders = folders
        self.gecko_codes = codes
        """The cached Gecko codes of the games."""
        self._me = me
        self._names_of = names_of
        self._logs: OrderedDict[tuple[str, bytes, int], Game] = OrderedDict()
        self._stats: OrderedDict[tuple[str, bytes, int], bytes] = OrderedDict()
        self._computing = trio.Lock()

    async def games(self, query: GamesQuery) -> schemas.GameList:
        """Return a page of games. Raises `InvalidQuery` if the query isn't valid."""
        only = None if query.query is UNSET else parsed_query(query.query, self._me).filter
        page = await self._index.page(query, self._folders() if query.watched else (), only)
        running = self._running()
        rows = [row if query.station is UNSET else row._replace(station=query.station) for row in page.games]
        names = await self._names_of(rows)
        return schemas.GameList(
            games=[schemas.GameItem(**_item(row, running, names.get(row.game_id))) for row in rows],
            next=None if page.next is None else str(page.next),
        )

    async def game(self, game_id: str) -> schemas.Game | None:
        """Return one game, or `None` if it is unknown."""
        found = await self._find(game_id)
        if found is None:
            return None
        details = found.details
        paths = [file.path for file in found.files]
        codes = await self.gecko_codes.codes(game_id, found.codes, paths, has_ended=found.row.reason is not None)
        return schemas.Game(
            **_item(found.row, self._running(), (await self._names_of([found.row])).get(game_id)),
            rate=msgspec.json.decode(details.rate),
            settings=_raw(details.settings),
            metadata=_raw(details.metadata),
            end=_raw(details.game_end),
            stats_summary=_raw(details.stats),
            codes=codes,
            files=[_file(file) for file in found.files],
            links=links_of(game_id, found.row.station, self.replay_name(found.row)),
        )

    async def frames(self, game_id: str, query: FramesQuery) -> EncodedFrames | None:
        """Return a page of a game's frames, or `None` if the game is unknown or its file is gone."""
        log = await self.log(game_id)
        if log is None:
            return None
        try:
            return await read_frames(log, query)
        except CursorGone:  # the game does not have that frame (yet), or the file cannot be read
            return EncodedFrames([], None, final=False) if await self._is_readable(game_id) else None

    async def stats(self, game_id: str) -> EncodedStats | None:
        """Return the stats of a game, or `None` if the game is unknown or its format has no stats."""
        running = await self._in_memory(game_id)
        if running is not None and running.in_progress:
            newest = running.newest_stats
            return None if newest is None else EncodedStats(stats_of(newest), final=False)
        found = await self._find(game_id)
        if found is None or not found.files:
            return None
        key = (game_id, found.files[0].path, found.files[0].mtime_ns)
        body = self._stats.get(key)
        if body is None:
            async with self._computing:  # one game at a time; requests for the same game wait for the first
                body = self._stats.get(key) or await self._compute_stats(found)
        if body is None:
            return None
        self._stats[key] = body
        self._stats.move_to_end(key)
        while len(self._stats) > _KEPT_STATS:
            self._stats.popitem(last=False)
        return EncodedStats(body, final=found.row.reason is not None)

    async def _compute_stats(self, found: StoredGame) -> bytes | None:
        """Compute the stats from the file, and store their summary in the index."""
        game_id = found.row.game_id
        log = await self.log(game_id)
        newest = None if log is None else await _last_stats(log)
        if newest is None:
            return None
        body = stats_of(newest)
        if found.details.stats is None:
            await self._index.keep_stats(game_id, stats_summary(msgspec.json.decode(body)))
        return body

    async def replay(self, game_id: str) -> ReplayFile | None:
        """Open the file that holds most of a game. Returns `None` if no file contains it any more."""
        found = await self._find(game_id)
        for file in () if found is None else found.files:
            opened = await trio.to_thread.run_sync(_open, file, game_id, limiter=self._limiter)
            if opened is not None:
                return opened
            self._index.gone(Path(os.fsdecode(file.path)))
        return None

    async def find(self, game_id: str) -> StoredGame | None:
        """Return a game from the index with its highlights, or `None` if it is unknown.

        If the daemon didn't see the game being played, the highlights are computed from its file.
        """
        found = await self._find(game_id)
        if found is None or found.details.highlights is not None or self._may_grow(found):
            return found
        async with self._computing:
            found = await self._find(game_id) or found
            log = await self.log(game_id)
            if found.details.highlights is not None or log is None:
                return found
            try:
                await self._index.keep_highlights(game_id, await read_highlights(log))
            except CursorGone:
                return found
        return await self._find(game_id)

    def replay_name(self, row: GameRow) -> str | None:
        """Return the unique name of a game's replay, or `None` if the Slippi Launcher can't play its format."""
        if row.format != launcher.FORMAT:
            return None
        through = None
        if row.reason in _UNFINISHED:
            live = self._live(row.game_id)
            newest = None if live is None or live.newest_frame is None else live.newest_frame.frame
            through = next((frame for frame in (newest, row.last_frame) if frame is not None), 0)
        return launcher.replay_name(row.game_id, timestamp(row.started_at_ms / 1000), through)

    def _running(self) -> Running:
        """Return the games in progress."""
        channels = self._hub.channels.values()
        games = ((channel.station, game) for channel in channels for game in channel.games if game.in_progress)
        return {(station, game.game_id): game.catching_up for station, game in games}

    def _may_grow(self, found: StoredGame) -> bool:
        """Whether a game is in progress on a station, and no file has all of it."""
        whole = any(file.completeness == WHOLE for file in found.files)
        return not whole and any(game_id == found.row.game_id for _, game_id in self._running())

    def _live(self, game_id: str) -> Game | None:
        """Return the game that a station has in memory, or `None` if no station has it."""
        games = [game for channel in self._hub.channels.values() for game in channel.games if game.game_id == game_id]
        return max(
            games, key=lambda game: (game.ended and game.stopped != "lost", game.in_progress, game.order), default=None
        )

    async def _in_memory(self, game_id: str) -> Game | None:
        """Return the game that a station has in memory.

        Returns `None` if no station has it, or if there is a file with more of it.
        """
        live = self._live(game_id)
        if live is None or live.stopped == "lost":
            return None
        found = None if live.ended else await self._find(game_id)
        whole = found is not None and any(file.completeness == WHOLE for file in found.files)
        return None if whole else live

    async def _find(self, game_id: str) -> StoredGame | None:
        """Return a game from the index, or `None` if it is unknown."""
        found = await self._index.game(game_id)
        if found is None and self._live(game_id) is not None:
            await self._index.written()  # the game has just begun
            found = await self._index.game(game_id)
        return found

    async def newest_of(self, station: str) -> str | None:
        """Return the id of a station's newest game in the index, or `None` if the index has no game of it."""
        return next((game.game_id for game in await self._index.played_on(station, 1)), None)

    async def log(self, game_id: str) -> Game | None:
        """Return the log of a game, from a station or from a file. Returns `None` if it can't be read."""
        live = await self._in_memory(game_id)
        if live is not None:
            return live
        found = await self._find(game_id)
        for file in () if found is None else found.files:
            key = (game_id, file.path, file.mtime_ns)
            if key not in self._logs:
                path = Path(os.fsdecode(file.path))
                if not await trio.to_thread.run_sync(_has, path, game_id, limiter=self._limiter):
                    continue
                self._logs[key] = archived_game(partial(Path, path), file.mtime_ns, game_id, self._limiter)
            self._logs.move_to_end(key)
            while len(self._logs) > _OPEN_LOGS:
                self._logs.popitem(last=False)
            return self._logs[key]
        return None

    async def _is_readable(self, game_id: str) -> bool:
        found = await self.replay(game_id)
        if found is None:
            return False
        found.file.close()
        return True


async def _last_stats(log: Game) -> LogMessage | None:
    """Return the last `stats` message of a log, or `None` if it doesn't have one or cannot be read."""
    newest: LogMessage | None = None
    position = START
    try:
        while messages := await log.log_reader.messages("finalized", position):
            newest = next((m for m in reversed(messages) if m.type == "stats"), newest)
            position = messages[-1].position
    except CursorGone:
        return None
    return newest


def _item(row: GameRow, running: Running, names: Mapping[int, str] | None) -> dict[str, Any]:
    """Return the fields of a game, from the view of the station in the row.

    `running` are the games in progress. `names` were given to players.
    """
    catching_up = running.get((row.station, row.game_id))
    return {
        "game_id": row.game_id,
        "format": row.format,
        "station": row.station,
        "stations": list(dict.fromkeys(msgspec.json.decode(row.stations, type=list[str]))),
        "started_at": timestamp(row.started_at_ms / 1000),
        "arrived_at": None if row.arrived_at_ms is None else timestamp(row.arrived_at_ms / 1000),
        "ended_at": None if row.ended_at_ms is None else timestamp(row.ended_at_ms / 1000),
        "in_progress": catching_up is not None and (not catching_up or row.reason in _UNFINISHED),
        "reason": row.reason,
        "last_frame": row.last_frame,
        "duration_seconds": row.duration_seconds,
        "standings": None if row.standings in (None, "{}") else _raw(row.standings),
        **_described(row.summary, tuple((names or {}).items())),
    }


@lru_cache(maxsize=_KEPT_DESCRIPTIONS)
def _described(summary: str, names: tuple[tuple[int, str], ...]) -> dict[str, msgspec.Raw]:
    """Return the encoded fields of an item from its summary.

    This is cached, because dashboards request the same games again and again.
    """
    fields = schemas.described(msgspec.json.decode(summary, type=GameSummary), dict(names))
    return {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in fields.items()}


def _raw(text: str | None) -> Any:
    return None if text is None else msgspec.Raw(text.encode())


def _file(file: FileRow) -> schemas.GameFile:
    return schemas.GameFile(
        name=shown_name(file.path),
        station=file.station,
        modified_at=timestamp(file.mtime_ns / 1e9),
        size_bytes=file.size_bytes,
    )


def _has(path: Path, game_id: str) -> bool:
    """Whether a file contains this game now. This blocks."""
    try:
        return peek_game_id(path) == game_id
    except OSError:
        return False


def _open(row: FileRow, game_id: str) -> ReplayFile | None:
    """Open a file, and return it if it contains this game. This blocks."""
    path = Path(os.fsdecode(row.path))
    try:
        file = open_replay_file(path)
    except OSError:
        return None
    try:
        origin = origin_of(path)
        size_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
    except OSError:
        file.close()
        return None
    if (origin.mtime_ns, size_bytes) != (row.mtime_ns, row.size_bytes) and not _has(path, game_id):
        file.close()
        return None
    return ReplayFile(replay_name(path), file, size_bytes, origin.mtime_ns / 1e9)
