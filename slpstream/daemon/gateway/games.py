"""The games of a gateway: those whose messages the broker has. A gateway has no replay files.

A game is described by its first and last messages; frames and stats are read from its finalized log. A game whose
beginning was trimmed is not listed. Its start time comes from the replay, or else from its first entry in the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.daemon.game_log import links_of, read_frames, stats_of
from slpstream.daemon.gateway.station import GatewayStation
from slpstream.model.errors import CursorGone
from slpstream.model.events import Event, GameEnd, GameStart, Metadata
from slpstream.model.messages import LogMessage, timestamp
from slpstream.store import GameKey, GamesQuery
from slpstream.store.game_facts import Facts, facts_of, folded, players_with_names, search_terms
from slpstream.stream import Game
from slpstream.web import schemas
from slpstream.web.games import EncodedFrames, EncodedStats, FramesQuery, ReplayFile

_MAX_GAMES = 500
"""Maximum number of games per station that are listed, and of ended games whose facts are remembered."""

Stations = Callable[[], Mapping[str, GatewayStation]]


class BrokerGames:
    """The games of a gateway, see `web.games.Games`."""

    def __init__(self, stations: Stations) -> None:
        self._stations = stations
        self._ended: dict[str, tuple[Facts, int]] = {}
        """Facts and start times of ended games, which no longer change."""

    async def games(self, query: GamesQuery) -> schemas.GameList:
        """A page of games."""
        found: list[tuple[GameKey, schemas.GameItem]] = []
        for station, game in self._all():
            if query.station in (UNSET, station.id):
                facts = await self._facts(station, game)
                if facts is not None and _matches(*facts, query):
                    key = GameKey((facts[1], game.game_id))
                    found.append((key, schemas.GameItem(**_item(station, game, *facts))))
        found.sort(key=lambda row: row[0], reverse=True)
        page = [row for row in found if query.cursor is UNSET or row[0] < query.cursor]
        more = len(page) > query.limit
        page = page[: query.limit]
        return schemas.GameList(games=[item for _, item in page], next=str(page[-1][0]) if more else None)

    async def game(self, game_id: str) -> schemas.Game | None:
        """One game; `None` if it is unknown."""
        found = self._find(game_id)
        facts = None if found is None else await self._facts(*found)
        if found is None or facts is None:
            return None
        station, game = found
        known, began_ms = facts
        return schemas.Game(
            **_item(station, game, known, began_ms),
            stations=[other.id for other, same in self._all() if same.game_id == game_id],
            rate=msgspec.json.decode(known.rate or b"[60,1]"),
            settings=_raw(known.settings),
            metadata=_raw(known.metadata),
            end=_raw(known.game_end),
            files=[],
            links=links_of(game_id, station.id),
        )

    async def frames(self, game_id: str, query: FramesQuery) -> EncodedFrames | None:
        """A page of a game's frames; `None` if the game is unknown."""
        found = self._find(game_id)
        if found is None:
            return None
        try:
            return await read_frames(found[1], query)
        except CursorGone:
            return EncodedFrames([], None, final=False)

    async def stats(self, game_id: str) -> EncodedStats | None:
        """A game's stats; `None` if the game is unknown or has none."""
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
        """Always `None`: a gateway has no replay files."""
        return None

    def _all(self) -> Iterable[tuple[GatewayStation, Game]]:
        """Each game once per station that has it, newest first within a station."""
        for station in self._stations().values():
            for game in list(reversed(station.channel.games))[:_MAX_GAMES]:
                yield station, game

    def _find(self, game_id: str) -> tuple[GatewayStation, Game] | None:
        found = [(station, game) for station, game in self._all() if game.game_id == game_id]
        return max(found, key=lambda pair: (pair[1].in_progress, pair[1].order), default=None)

    async def _facts(self, station: GatewayStation, game: Game) -> tuple[Facts, int] | None:
        """The facts of a game and its start time in Unix milliseconds; `None` if its beginning was trimmed."""
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
        events = [_start_of(start)]
        if game.ended or game.archived:
            events += [event for m in await history.last_few(game.game_id) if (event := _end_of(m)) is not None]
        facts = facts_of(game.game_id, events)
        found = (facts, facts.said_at_ms or turns[0].ordinal)
        if facts.metadata is not None:
            self._ended = {**dict(list(self._ended.items())[-_MAX_GAMES:]), game.game_id: found}
        return found


def _item(station: GatewayStation, game: Game, facts: Facts, began_ms: int) -> dict[str, Any]:
    return {
        "game_id": game.game_id,
        "format": facts.format or "",
        "station": station.id,
        "started_at": timestamp(began_ms / 1000),
        "in_progress": game.in_progress,
        "players": msgspec.convert(players_with_names(facts.players or b"[]", facts.metadata), list[schemas.Player]),
        "setup": msgspec.json.decode(facts.setup or b"{}"),
        "winners": [] if facts.winners is None else msgspec.json.decode(facts.winners),
        "reason": facts.reason,
        "last_frame": facts.last_frame,
        "duration_seconds": facts.duration_seconds,
    }


def _matches(facts: Facts, began_ms: int, query: GamesQuery) -> bool:
    """Whether a game of the right station matches a query."""
    if query.format not in (UNSET, facts.format):
        return False
    if query.since is not UNSET and began_ms < query.since:
        return False
    if query.until is not UNSET and began_ms >= query.until:
        return False
    if query.player is UNSET:
        return True
    return folded(query.player) in search_terms(players_with_names(facts.players or b"[]", facts.metadata))


def _start_of(message: LogMessage) -> Event:
    payload = msgspec.json.decode(b"{" + message.body)
    rate = payload.get("rate", [60, 1])
    return GameStart(
        message.offset, payload.get("format", ""), message.game_id or "", payload.get("settings"), tuple(rate)
    )


def _end_of(message: LogMessage) -> Event | None:
    if message.type == "metadata":
        return Metadata(message.offset, msgspec.json.decode(b"{" + message.body)["metadata"])
    if message.type != "game_end":
        return None
    payload = msgspec.json.decode(b"{" + message.body)
    return GameEnd(
        message.offset,
        payload.pop("reason"),
        payload.pop("gameEnd", None),
        payload.pop("winners", ()),
        payload.pop("lastFrame", None),
        payload.pop("durationSeconds", None),
        payload,
    )


def _raw(text: bytes | None) -> Any:
    return None if text is None else msgspec.Raw(text)
