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

from slpstream.daemon.gateway.station import GatewayStation
from slpstream.model.errors import CursorGone
from slpstream.model.events import Event, GameEnd, GameStart, Metadata
from slpstream.model.messages import START, LogMessage, cut_frame
from slpstream.store.game_facts import Facts, facts_of, folded, players_with_names, search_terms
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
        self._over: dict[str, tuple[Facts, int]] = {}
        """What is known of games that are over; it does not change any more."""

    async def games(self, query: ListQuery) -> tuple[list[schemas.GameItem], tuple[int, str] | None]:
        """A page of games, newest first, and the last of them when there is another page."""
        found: list[tuple[tuple[int, str], schemas.GameItem]] = []
        for station, game in self._all():
            if query.station in (None, station.id):
                facts = await self._facts(station, game)
                if facts is not None and _wanted(facts[0], facts[1], query):
                    found.append(((facts[1], game.game_id), schemas.GameItem(**_item(station, game, *facts))))
        found.sort(key=lambda row: row[0], reverse=True)
        page = [row for row in found if query.after is None or row[0] < query.after]
        more = len(page) > query.limit
        page = page[: query.limit]
        return [item for _, item in page], page[-1][0] if more and page else None

    async def game(self, game_id: str) -> schemas.Game | None:
        """One game; `None` when there is none of that id."""
        found = self._find(game_id)
        facts = None if found is None else await self._facts(*found)
        if found is None or facts is None:
            return None
        station, game = found
        known, began_ms = facts
        base = f"/v1/games/{game_id}"
        return schemas.Game(
            **_item(station, game, known, began_ms),
            stations=[other.id for other, same in self._all() if same.game_id == game_id],
            rate=msgspec.json.decode(known.rate or b"[60,1]"),
            settings=_raw(known.settings),
            metadata=_raw(known.metadata),
            end=_raw(known.game_end),
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
            place = START if query.first is None else await game.log_reader.find_frame("finalized", query.first)
            frames: list[bytes] = []
            while messages := await game.log_reader.messages("finalized", place):
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

    async def _facts(self, station: GatewayStation, game: Game) -> tuple[Facts, int] | None:
        """What is known of a game, and when it began in Unix milliseconds."""
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
        events = [_start_of(start)]
        if game.ended or game.archived:
            events += [event for m in await history.last_few(game.game_id) if (event := _end_of(m)) is not None]
        facts = facts_of(game.game_id, events)
        found = (facts, facts.said_at_ms or turns[0].ordinal)
        if facts.metadata is not None:
            self._over = {**dict(list(self._over.items())[-_MAX_LOOKED_AT:]), game.game_id: found}
        return found


def _item(station: GatewayStation, game: Game, facts: Facts, began_ms: int) -> dict[str, Any]:
    return {
        "game_id": game.game_id,
        "format": facts.format or "",
        "station": station.id,
        "started_at": _timestamp(began_ms / 1000),
        "in_progress": game.in_progress,
        "players": msgspec.convert(players_with_names(facts.players or b"[]", facts.metadata), list[schemas.Player]),
        "setup": msgspec.json.decode(facts.setup or b"{}"),
        "winners": [] if facts.winners is None else msgspec.json.decode(facts.winners),
        "reason": facts.reason,
        "last_frame": facts.last_frame,
        "duration_seconds": facts.duration_seconds,
    }


def _wanted(facts: Facts, began_ms: int, query: ListQuery) -> bool:
    if query.format not in (None, facts.format):
        return False
    if (query.since_ms is not None and began_ms < query.since_ms) or (
        query.until_ms is not None and began_ms >= query.until_ms
    ):
        return False
    if query.player is None:
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


def _entry(message: LogMessage, fields: Sequence[str] | None) -> bytes:
    if fields is None:
        return bytes(message.entry())
    return cut_frame(b"{" + message.body, fields)[_FRAME_HEAD:-1]


def _raw(text: bytes | None) -> Any:
    return None if text is None else msgspec.Raw(text)


def _timestamp(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
