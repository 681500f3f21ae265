"""The games as a gateway knows them (`web.games.Games`): those whose messages the broker has. Files it has none.

What a game is like is said by its first messages and its last ones; frames and stats are read from its finalized log.
A game of which the beginning is trimmed is not listed. When it began is what the file says, or when the broker was
first told of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from slpstream.daemon.gateway.lines import payload_of
from slpstream.daemon.gateway.station import GatewayStation
from slpstream.game.described import DescribedGame
from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, LogMessage, cut_frame
from slpstream.store import GameRecord
from slpstream.store.game_record import folded, search_terms
from slpstream.stream import Game
from slpstream.web import schemas
from slpstream.web.games import FramesFound, FramesQuery, ListQuery, ReplayFile, StatsFound

_FRAME_HEAD = len(b'{"frame":')
_MAX_LOOKED_AT = 500

Stations = Callable[[], Mapping[str, GatewayStation]]


class BrokerGames:
    """The games of all stations."""

    def __init__(self, stations: Stations) -> None:
        self._stations = stations
        self._over: dict[str, tuple[GameRecord, int]] = {}
        """Games that are over: their records do not change any more."""

    async def games(self, query: ListQuery) -> tuple[list[schemas.GameItem], tuple[int, str] | None]:
        """A page of games, newest first, and the last of them when there is another page."""
        found: list[tuple[tuple[int, str], schemas.GameItem]] = []
        for station, game in self._all():
            if query.station in (None, station.id):
                known = await self._record(station, game)
                if known is not None and _wanted(*known, query):
                    found.append(((known[1], game.game_id), schemas.GameItem(**_item(station, game, *known))))
        found.sort(key=lambda row: row[0], reverse=True)
        page = [row for row in found if query.after is None or row[0] < query.after]
        more = len(page) > query.limit
        page = page[: query.limit]
        return [item for _, item in page], page[-1][0] if more and page else None

    async def game(self, game_id: str) -> schemas.Game | None:
        """One game; `None` when there is none of that id."""
        found = self._find(game_id)
        known = None if found is None else await self._record(*found)
        if found is None or known is None:
            return None
        station, game = found
        record, began_ms = known
        base = f"/v1/games/{game_id}"
        return schemas.Game(
            **_item(station, game, record, began_ms),
            stations=[other.id for other, same in self._all() if same.game_id == game_id],
            rate=msgspec.json.decode(record.rate),
            settings=_raw(record.settings),
            metadata=_raw(record.metadata),
            end=_raw(record.game_end),
            files=[],
            links=schemas.GameLinks(
                self=base,
                frames=f"{base}/frames",
                stats=f"{base}/stats",
                replay=f"{base}/replay",
                events=f"/v1/events?station={station.id}&cursor={game_id}/l0.0&delivery=lossless",
            ),
        )

    async def frames(self, game_id: str, query: FramesQuery) -> FramesFound | None:
        """Some frames of a game; `None` when there is none of that id."""
        found = self._find(game_id)
        if found is None:
            return None
        game = found[1]
        final = not game.in_progress
        try:
            place = START if query.first is None else await game.find_frame("finalized", query.first)
            frames: list[bytes] = []
            while messages := await game.replay("finalized", place):
                place = messages[-1].position
                for message in messages:
                    number = message.frame
                    if number is None or (query.first is not None and number < query.first):
                        continue
                    if query.last is not None and number > query.last:
                        return FramesFound(frames, None, final=final)
                    if len(frames) >= query.limit:
                        return FramesFound(frames, number, final=final)
                    frames.append(_entry(message, query.fields))
        except CursorGone:
            return FramesFound([], None, final=False)
        return FramesFound(frames, None, final=final)

    async def stats(self, game_id: str) -> StatsFound | None:
        """The stats of a game; `None` when there are none."""
        found = self._find(game_id)
        if found is None:
            return None
        station, game = found
        newest = game.newest_stats if game.in_progress else None
        if newest is None:
            for message in await station.histories["live"].last_few(game_id):
                newest = message if message.type == "stats" else newest
        if newest is None:
            return None
        payload = msgspec.json.decode(b"{" + newest.body, type=dict[str, msgspec.Raw])
        return StatsFound(bytes(payload["stats"]), final=not game.in_progress)

    async def replay(self, game_id: str) -> ReplayFile | None:
        """There are no files here."""
        return None

    # -- finding -----------------------------------------------------------------------------------------------------

    def _all(self) -> Iterable[tuple[GatewayStation, Game]]:
        """Every game once for each station, newest first."""
        for station in self._stations().values():
            for game in list(reversed(station.channel.games))[:_MAX_LOOKED_AT]:
                yield station, game

    def _find(self, game_id: str) -> tuple[GatewayStation, Game] | None:
        found = [(station, game) for station, game in self._all() if game.game_id == game_id]
        return max(found, key=lambda pair: (pair[1].in_progress, pair[1].order), default=None)

    async def _record(self, station: GatewayStation, game: Game) -> tuple[GameRecord, int] | None:
        """The record of a game as an index would have it, and when the game began, in Unix milliseconds."""
        if game.game_id in self._over:
            return self._over[game.game_id]
        history = station.histories["live"]
        start = game.start
        if start is None:
            first = await history.first_of(game.game_id)
            start = first if first is not None and first.type == "game_start" else None
        turns = history.of_game(game.game_id)
        if start is None or not turns:
            return None
        end: dict[str, Any] | None = None
        metadata: dict[str, Any] | None = None
        if game.ended or game.archived:
            for message in await history.last_few(game.game_id):
                if message.type == "game_end":
                    end = payload_of(message)
                elif message.type == "metadata":
                    metadata = payload_of(message)["metadata"]
        record = DescribedGame.of_payloads(game.game_id, payload_of(start), end, metadata).record()
        found = (record, record.said_at_ms or turns[0].ordinal)
        if record.metadata is not None:
            self._over = {**dict(list(self._over.items())[-_MAX_LOOKED_AT:]), game.game_id: found}
        return found


def _item(station: GatewayStation, game: Game, record: GameRecord, began_ms: int) -> dict[str, Any]:
    return {
        "game_id": game.game_id,
        "format": record.format,
        "station": station.id,
        "started_at": _timestamp(began_ms / 1000),
        "in_progress": game.in_progress,
        "reason": record.reason,
        "last_frame": record.last_frame,
        "duration_seconds": record.duration_seconds,
        **schemas.described(record.summary),
    }


def _wanted(record: GameRecord, began_ms: int, query: ListQuery) -> bool:
    if query.format not in (None, record.format):
        return False
    if (query.since_ms is not None and began_ms < query.since_ms) or (
        query.until_ms is not None and began_ms >= query.until_ms
    ):
        return False
    return query.player is None or folded(query.player) in search_terms(record.summary.players)


def _entry(message: LogMessage, fields: Sequence[str] | None) -> bytes:
    if fields is None:
        return bytes(message.entry())
    return cut_frame(b"{" + message.body, fields)[_FRAME_HEAD:-1]


def _raw(text: bytes | None) -> Any:
    return None if text is None else msgspec.Raw(text)


def _timestamp(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
