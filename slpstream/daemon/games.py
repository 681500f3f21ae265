"""The games as the outside asks for them: what the index knows, what is being played, and what only the file says.

Lists and descriptions come from the index. Frames and stats are read from the log of the game, through the same replay
that resuming subscribers use; only the stats of a game that is running are at hand. A file is always looked at before
it is given out: under its name there can be another game by now.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import trio

from slpstream.api import open_file
from slpstream.game.log_reader import archived_game, peek_game_id
from slpstream.model.errors import CursorGone, SourceError
from slpstream.model.messages import START, LogMessage, Position, cut_frame, timestamp
from slpstream.model.summary import GameSummary, stats_summary
from slpstream.store import FileRow, GameIndex, GameRow, Wanted
from slpstream.store.database import Game as IndexedGame
from slpstream.store.database import Place
from slpstream.stream import Game, Hub
from slpstream.system.files import modified_ns
from slpstream.web import schemas
from slpstream.web.games import FramesFound, FramesQuery, ListQuery, ReplayFile, StatsFound

_OPEN_LOGS = 4
_KEPT_STATS = 16
_FRAME_HEAD = len(b'{"frame":')


class DaemonGames:
    """The games of one daemon (`web.games.Games`)."""

    def __init__(self, index: GameIndex, hub: Hub, limiter: trio.CapacityLimiter) -> None:
        """`limiter` bounds the threads that read files."""
        self._index = index
        self._hub = hub
        self._limiter = limiter
        self._logs: OrderedDict[tuple[str, bytes, int], Game] = OrderedDict()
        self._stats: OrderedDict[tuple[str, bytes, int], bytes] = OrderedDict()
        self._computing = trio.Lock()

    async def games(self, query: ListQuery) -> tuple[list[schemas.GameItem], tuple[int, str] | None]:
        """A page of games, and the last of them when there is another page."""
        wanted = Wanted(query.station, query.player, query.format, query.since_ms, query.until_ms)
        page = await self._index.page(wanted, None if query.after is None else Place(*query.after), query.limit)
        running = self._running()
        return [schemas.GameItem(**_item(row, running)) for row in page.games], page.next

    async def game(self, game_id: str) -> schemas.Game | None:
        """One game; `None` when there is none of that id."""
        found = await self._find(game_id)
        if found is None:
            return None
        details = found.details
        base = f"/v1/games/{game_id}"
        return schemas.Game(
            **_item(found.row, self._running()),
            stations=list(dict.fromkeys(file.station for file in found.files)),
            rate=msgspec.json.decode(details.rate),
            settings=_raw(details.settings),
            metadata=_raw(details.metadata),
            end=_raw(details.game_end),
            stats_summary=_raw(details.stats),
            files=[_file(file) for file in found.files],
            links=schemas.GameLinks(
                self=base,
                frames=f"{base}/frames",
                stats=f"{base}/stats",
                replay=f"{base}/replay",
                events=f"/v1/events?station={found.row.station}&cursor={game_id}/l0.0&delivery=lossless",
            ),
        )

    async def frames(self, game_id: str, query: FramesQuery) -> FramesFound | None:
        """Some frames of a game; `None` when there is none of that id, or its file is gone."""
        log = await self._log(game_id)
        if log is None:
            return None
        try:
            found = await _read_frames(log, query)
        except CursorGone:
            found = None
        if found is None:  # no frame of that number (yet), or the file cannot be read
            return FramesFound([], None, final=False) if await self._readable(game_id) else None
        frames, following = found
        return FramesFound(frames, following, final=not log.in_progress)

    async def stats(self, game_id: str) -> StatsFound | None:
        """The stats of a game; `None` when there are none."""
        running = self._live(game_id)
        if running is not None and running.in_progress:
            newest = running.newest_stats
            return None if newest is None else StatsFound(_stats_of(newest), final=False)
        found = await self._find(game_id)
        if found is None or not found.files:
            return None
        key = (game_id, found.files[0].path, found.files[0].mtime_ns)
        body = self._stats.get(key)
        if body is None:
            async with self._computing:  # one at a time: who asks for the same waits for it
                body = self._stats.get(key) or await self._compute_stats(found)
        if body is None:
            return None
        self._stats[key] = body
        self._stats.move_to_end(key)
        while len(self._stats) > _KEPT_STATS:
            self._stats.popitem(last=False)
        return StatsFound(body, final=found.row.reason is not None)

    async def _compute_stats(self, found: IndexedGame) -> bytes | None:
        """From the file; the summary is kept."""
        game_id = found.row.game_id
        log = await self._log(game_id)
        newest = None if log is None else await _last_stats(log)
        if newest is None:
            return None
        body = _stats_of(newest)
        if found.details.stats is None:
            await self._index.keep_stats(game_id, stats_summary(msgspec.json.decode(body)))
        return body

    async def replay(self, game_id: str) -> ReplayFile | None:
        """The newest file of a game that still has it; `None` when there is none."""
        found = await self._find(game_id)
        for file in () if found is None else found.files:
            opened = await trio.to_thread.run_sync(_open, file, game_id, limiter=self._limiter)
            if opened is not None:
                return opened
            self._index.gone(Path(os.fsdecode(file.path)))
        return None

    # -- finding -----------------------------------------------------------------------------------------------------

    def _running(self) -> set[str]:
        channels = self._hub.channels.values()
        return {game.game_id for channel in channels for game in channel.games if game.in_progress}

    def _live(self, game_id: str) -> Game | None:
        """The game as one of the stations has it."""
        games = [game for channel in self._hub.channels.values() for game in channel.games if game.game_id == game_id]
        return max(games, key=lambda game: (game.in_progress, game.order), default=None)

    async def _find(self, game_id: str) -> IndexedGame | None:
        found = await self._index.game(game_id)
        if found is None and self._live(game_id) is not None:
            await self._index.written()  # it has just begun
            found = await self._index.game(game_id)
        return found

    async def _log(self, game_id: str) -> Game | None:
        live = self._live(game_id)
        if live is not None and not live.lost:
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

    async def _readable(self, game_id: str) -> bool:
        found = await self.replay(game_id)
        if found is None:
            return False
        found.file.close()
        return True


# -- the log of a game -------------------------------------------------------------------------------------------------


async def _read_frames(log: Game, query: FramesQuery) -> tuple[list[bytes], int | None] | None:
    """The frames, and the number of the next one when that is wanted too."""
    place: Position = START if query.first is None else await log.find_frame("finalized", query.first)
    frames: list[bytes] = []
    first = query.first
    while True:
        messages = await log.replay("finalized", place)
        if not messages:
            return frames, None
        place = Position(messages[-1].offset, messages[-1].count)
        for message in messages:
            number = message.frame
            if number is None or (first is not None and number < first):
                continue
            if query.last is not None and number > query.last:
                return frames, None
            if len(frames) >= query.limit:
                return frames, number
            frames.append(_entry(message, query.fields))


def _entry(message: LogMessage, fields: Sequence[str] | None) -> bytes:
    if fields is None:
        return bytes(message.entry())
    return cut_frame(b"{" + message.body, fields)[_FRAME_HEAD:-1]


async def _last_stats(log: Game) -> LogMessage | None:
    """The last `stats` of a log."""
    newest: LogMessage | None = None
    place = START
    try:
        while messages := await log.replay("finalized", place):
            newest = next((m for m in reversed(messages) if m.type == "stats"), newest)
            place = Position(messages[-1].offset, messages[-1].count)
    except CursorGone:
        return None
    return newest


def _stats_of(message: LogMessage) -> bytes:
    payload = msgspec.json.decode(b"{" + message.body, type=dict[str, msgspec.Raw])
    return bytes(payload["stats"])


# -- rows to answers ---------------------------------------------------------------------------------------------------


def _item(row: GameRow, running: set[str]) -> dict[str, Any]:
    return {
        "game_id": row.game_id,
        "format": row.format,
        "station": row.station,
        "started_at": timestamp(row.started_at_ms / 1000),
        "in_progress": row.game_id in running,
        "reason": row.reason,
        "last_frame": row.last_frame,
        "duration_seconds": row.duration_seconds,
        **schemas.described(msgspec.json.decode(row.summary, type=GameSummary)),
    }


def _raw(text: str | None) -> Any:
    return None if text is None else msgspec.Raw(text.encode())


def _file(file: FileRow) -> schemas.GameFile:
    return schemas.GameFile(
        name=_name(file.path),
        station=file.station,
        modified_at=timestamp(file.mtime_ns / 1e9),
        size_bytes=file.size_bytes,
    )


def _name(path: bytes) -> str:
    return os.path.basename(os.fsdecode(path)).encode("utf-8", "replace").decode()  # noqa: PTH119 -- names that are not UTF-8


# -- files -------------------------------------------------------------------------------------------------------------


def _has(path: Path, game_id: str) -> bool:
    """In a worker thread: whether this file, as it is now, is this game."""
    try:
        return peek_game_id(path) == game_id
    except OSError:
        return False


def _open(row: FileRow, game_id: str) -> ReplayFile | None:
    """In a worker thread: the file, if it has the game; `None` otherwise."""
    path = Path(os.fsdecode(row.path))
    try:
        file = open_file(path)
    except SourceError:
        return None
    try:
        status = os.fstat(file.fileno())
    except OSError:
        file.close()
        return None
    if (modified_ns(status), status.st_size) != (row.mtime_ns, row.size_bytes) and not _has(path, game_id):
        file.close()
        return None
    return ReplayFile(_name(row.path), file, status.st_size, modified_ns(status) / 1e9)
