"""The games of a gateway. Since it doesn't have any replay files, these are the games whose messages are in the broker.

We describe a game by its first and last messages, and read its frames and stats from its finalized log. If the
beginning of a game was trimmed, it isn't listed. The time when it started comes from the replay. If the replay doesn't
have it, we use the time of its first entry in the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.daemon.game_log import links_of, read_frames, stats_of
from slpstream.daemon.game_queries import parsed_query
from slpstream.game.described import DescribedGame
from slpstream.model.errors import CursorGone
from slpstream.model.game_facts import GameFacts, facts_of
from slpstream.model.messages import timestamp
from slpstream.parts.fanout.gateway.lines import payload_of
from slpstream.parts.fanout.gateway.station import GatewayStation
from slpstream.store import GameKey, GameRecord, GamesQuery
from slpstream.store.game_record import folded, search_terms
from slpstream.stream.game import Game
from slpstream.web import schemas
from slpstream.web.games import EncodedFrames, EncodedStats, FramesQuery, ReplayFile

_MAX_GAMES = 500
"""Maximum number of games per station that are listed, and of ended games whose facts are remembered."""

Stations = Callable[[], Mapping[str, GatewayStation]]

_AtStation = tuple[GatewayStation, Game]
"""A game of a station."""


class BrokerGames:
    """The games of a gateway (see `web.games.Games`)."""

    def __init__(self, stations: Stations, me: Sequence[str] = ()) -> None:
        """`me` are the connect codes that you mean if you write `@me` in a query."""
        self._stations = stations
        self._me = me
        self._ended: dict[str, tuple[GameRecord, int]] = {}
        """Records and start times of ended games, which no longer change."""

    async def games(self, query: GamesQuery) -> schemas.GameList:
        """Return a page of games. Raises `InvalidQuery` if the query is wrong."""
        parsed = None if query.query is UNSET else parsed_query(query.query, self._me)
        found: list[tuple[GameKey, schemas.GameItem]] = []
        for at_stations in self._by_game().values():
            asked = [pair for pair in at_stations if query.station in (UNSET, pair[0].id)]
            if not asked:
                continue
            station, game = _with_most(asked)
            stations = [each.id for each, _ in at_stations]
            known = await self._record(station, game)
            moment_ms = None if known is None else _moment_ms(*known, query)
            if known is not None and moment_ms is not None and _matches(known[0], moment_ms, query):
                if parsed is not None and not parsed.matches(_facts(stations, known[0])):
                    continue
                key = GameKey((moment_ms, game.game_id))
                found.append((key, schemas.GameItem(**_item(station, stations, game, *known))))
        found.sort(key=lambda row: row[0], reverse=True)
        page = [row for row in found if query.cursor is UNSET or row[0] < query.cursor]
        more = len(page) > query.limit
        page = page[: query.limit]
        return schemas.GameList(games=[item for _, item in page], next=str(page[-1][0]) if more else None)

    async def game(self, game_id: str) -> schemas.Game | None:
        """Return one game, or `None` if we don't know it."""
        at_stations = self._by_game().get(game_id)
        found = None if at_stations is None else _with_most(at_stations)
        known = None if found is None else await self._record(*found)
        if at_stations is None or found is None or known is None:
            return None
        station, game = found
        record, began_ms = known
        return schemas.Game(
            **_item(station, [each.id for each, _ in at_stations], game, record, began_ms),
            rate=msgspec.json.decode(record.rate),
            settings=_raw(record.settings),
            metadata=_raw(record.metadata),
            end=_raw(record.game_end),
            files=[],
            links=links_of(game_id, station.id),
        )

    async def frames(self, game_id: str, query: FramesQuery) -> EncodedFrames | None:
        """Return a page of a game's frames, or `None` if we don't know the game."""
        found = self._find(game_id)
        if found is None:
            return None
        try:
            return await read_frames(found[1], query)
        except CursorGone:
            return EncodedFrames([], None, final=False)

    async def stats(self, game_id: str) -> EncodedStats | None:
        """Return the stats of a game, or `None` if we don't know the game or it doesn't have any."""
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
        return EncodedStats(stats_of(newest), final=not game.in_progress)

    async def replay(self, game_id: str) -> ReplayFile | None:
        """Return `None`, because a gateway doesn't have any replay files."""
        return None

    def _by_game(self) -> Mapping[str, list[_AtStation]]:
        """Return the stations that have each game, by the id of the game."""
        found: dict[str, list[_AtStation]] = {}
        for station in self._stations().values():
            for game in list(reversed(station.channel.games))[:_MAX_GAMES]:
                found.setdefault(game.game_id, []).append((station, game))
        return found

    def _find(self, game_id: str) -> _AtStation | None:
        at_stations = self._by_game().get(game_id)
        return None if at_stations is None else _with_most(at_stations)

    async def _record(self, station: GatewayStation, game: Game) -> tuple[GameRecord, int] | None:
        """Return the record of the given game and its start time in Unix milliseconds, or `None` if its beginning was
        trimmed.
        """
        if game.game_id in self._ended:
            return self._ended[game.game_id]
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
            self._ended = {**dict(list(self._ended.items())[-_MAX_GAMES:]), game.game_id: found}
        return found


def _with_most(at_stations: Sequence[_AtStation]) -> _AtStation:
    """Return that station which has most of a game."""
    return max(at_stations, key=lambda pair: (pair[1].in_progress, pair[1].order))


def _item(
    station: GatewayStation, stations: list[str], game: Game, record: GameRecord, began_ms: int
) -> dict[str, Any]:
    return {
        "game_id": game.game_id,
        "format": record.format,
        "station": station.id,
        "stations": stations,
        "started_at": timestamp(began_ms / 1000),
        "ended_at": None if record.reason is None else timestamp(_ended_ms(record, began_ms) / 1000),
        "in_progress": game.in_progress,
        "reason": record.reason,
        "last_frame": record.last_frame,
        "duration_seconds": record.duration_seconds,
        "standings": None if record.standings in (None, b"{}") else _raw(record.standings),
        **schemas.described(record.summary),
    }


def _facts(stations: Sequence[str], record: GameRecord) -> GameFacts:
    """Return the facts that you can use in queries. There are none about files, because a gateway doesn't have any."""
    return facts_of(
        record.summary,
        format=record.format,
        stations=stations,
        file_name="",
        duration_seconds=record.duration_seconds,
        began_ms=record.said_at_ms,
    )


def _ended_ms(record: GameRecord, began_ms: int) -> int:
    return began_ms + round(1000 * (record.duration_seconds or 0.0))


def _moment_ms(record: GameRecord, began_ms: int, query: GamesQuery) -> int | None:
    """Return the Unix time that decides where a game is listed, or `None` if it isn't in a list with this order."""
    if query.order == "began":
        return began_ms
    return None if record.reason is None else _ended_ms(record, began_ms)


def _matches(record: GameRecord, moment_ms: int, query: GamesQuery) -> bool:
    """Whether a game matches a query, given the time at which it is listed. You have to check its station yourself."""
    if query.format not in (UNSET, record.format):
        return False
    if query.since is not UNSET and moment_ms < query.since:
        return False
    if query.until is not UNSET and moment_ms >= query.until:
        return False
    if query.player is UNSET:
        return True
    return folded(query.player) in search_terms(record.summary.players)


def _raw(text: bytes | None) -> Any:
    return None if text is None else msgspec.Raw(text)
