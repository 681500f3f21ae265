"""The search for the configured situations in the games of stations, while these are being played.

Situations don't only depend on the bytes of a file, but also on the queries. This is why they are not part of a game's
log, and do not change any cursor. We follow each station through its finalized log. If a game continues after a
restart, it is read again from its beginning. This gives the same situations with the same numbers, so the index and
other parts can tell which of them they already have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.game.described import DescribedGame
from slpstream.model.errors import ConfigError, NoSuchMoment, ProtocolViolation
from slpstream.model.messages import LogMessage, timestamp
from slpstream.model.occurrence import Occurrence
from slpstream.model.query_problem import QueryProblem
from slpstream.model.summary import GameSummary
from slpstream.model.topics import Topic
from slpstream.parts.interface import Host
from slpstream.parts.services import MAX_WORDS, Marks, NewMark, Odds
from slpstream.parts.situations.part import Situation
from slpstream.parts.situations.query import FoundSituation
from slpstream.parts.situations.search import (
    LiveSituations,
    Query,
    described,
    frame_of,
    is_within,
    parse,
    setup_of,
    span_of,
)
from slpstream.parts.situations.stored import keep
from slpstream.stream.channel import Channel
from slpstream.stream.log_consumer import ConsumedBatch, ConsumerOffsets, LogConsumer
from slpstream.system.logs import get_logger

_TOPICS: frozenset[Topic] = frozenset({"game", "frame"})
_KEPT_GAMES = 8


class _Wanted(NamedTuple):
    """A situation from the configuration."""

    config: Situation
    query: Query


class _Search:
    """The search for one situation in one game."""

    __slots__ = ("count", "live", "wanted")

    def __init__(self, wanted: _Wanted, live: LiveSituations) -> None:
        self.wanted = wanted
        self.live = live
        self.count = 0
        """The number of situations that were found."""


class _Game(NamedTuple):
    """A game that is being searched."""

    summary: GameSummary
    searches: Sequence[_Search]


class StationSearch:
    """The search of one daemon. Start `follow` for each station."""

    def __init__(self, wanted: Sequence[Situation], host: Host) -> None:
        """Raises `ConfigError` if one of the queries is invalid."""
        self._host = host
        self._marked = {each.name for each in wanted if each.mark}
        self._scores = {each.name: each.score for each in wanted if each.highlight}
        self._wanted = [_Wanted(each, _query(each, i)) for i, each in enumerate(wanted)]
        self._log = get_logger()

    async def follow(self, channel: Channel) -> None:
        """Search the games of a station until cancelled."""
        index, station = self._host.index, channel.station
        wanted = [each for each in self._wanted if not each.config.stations or station in each.config.stations]
        if not wanted:
            return
        key = f"situations.{station}"
        offsets = _offsets(await index.remembered(key))
        games: dict[str, _Game] = {}
        async for batch in LogConsumer(channel, frames="finalized", topics=_TOPICS, offsets=offsets.offsets):
            for game, search, found in self._search(wanted, batch, games):
                for payload in await self._wanted_payloads(batch.game_id, game, search, found):
                    await self._keep(channel, batch.game_id, payload)
            was_over = len(_over(offsets).offsets)
            offsets.note(batch)
            over = _over(offsets)
            if len(over.offsets) != was_over:
                index.remember(key, over.dump())

    async def _keep(self, channel: Channel, game_id: str, payload: dict[str, Any]) -> None:
        """Store a situation, and tell everybody about it."""
        station = channel.station
        self._host.metrics.counter("slpstream_situations_total", station).inc()
        self._log.info(
            "situation found",
            station=station,
            game_id=game_id,
            situation=payload["name"],
            frames=payload["frames"],
        )
        found_at_ms = round(1000 * time.time())
        score = self._scores.get(payload["name"])
        is_new = await keep(self._host.index, FoundSituation(station, payload, found_at_ms, score))
        await self._host.parts.situation_found(station, payload)
        if payload["name"] in self._marked:
            await self._mark(station, payload)
        if is_new and any(game.game_id == game_id and game.is_played for game in channel.games):
            channel.publish_situation({"at": timestamp(found_at_ms / 1000), **payload})
            self._host.parts.situation_seen(station, payload)

    async def _wanted_payloads(
        self, game_id: str, game: _Game, search: _Search, found: Sequence[Occurrence]
    ) -> Iterator[dict[str, Any]]:
        """Return the payloads of those situations that change the odds as the query wants."""
        wanted = search.wanted.query.swing
        if wanted is not None:
            odds = self._host.find(Odds)
            spans = [span_of(each, search.live.dying) for each in found]
            swings = [] if odds is None else await odds.swings(game_id, spans)
            found = [each for each, swing in zip(found, swings, strict=False) if is_within(wanted, swing)]
        return _payloads(game_id, game, search, found)

    def _search(
        self, wanted: Sequence[_Wanted], batch: ConsumedBatch, games: dict[str, _Game]
    ) -> Iterator[tuple[_Game, _Search, Sequence[Occurrence]]]:
        """Yield the situations that a batch makes known.

        This updates `games`, which are those that are being played.
        """
        game_id = batch.game_id
        for message in batch.messages:
            if message.type == "game_start":
                games[game_id] = _begun(wanted, message)
                while len(games) > _KEPT_GAMES:
                    del games[next(iter(games))]
                continue
            game = games.get(game_id)
            if game is None:
                continue
            if message.type == "frame":
                frame = frame_of(message)
                for search in game.searches:
                    if found := search.live.feed(frame):
                        yield game, search, found
            elif message.type == "game_end":
                for search in game.searches:
                    yield game, search, search.live.finish()
                del games[game_id]
        if batch.gone is not None:
            games.pop(game_id, None)

    async def _mark(self, station: str, payload: Mapping[str, Any]) -> None:
        """Mark the moment of a situation, unless it is already marked."""
        marks = self._host.find(Marks)
        if marks is None:
            return
        game_id, frame, words = payload["gameId"], payload["frames"][-1], payload["name"][:MAX_WORDS]
        known = await marks.marks(station) or []
        if any((mark.game_id, mark.frame, mark.words) == (game_id, frame, words) for mark in known):
            return
        try:
            await marks.mark(station, NewMark(frame=frame, game_id=game_id, words=words))
        except NoSuchMoment as error:
            self._log.warning("situation not marked", station=station, game_id=game_id, what=str(error))


def _query(wanted: Situation, i: int) -> Query:
    query = parse(wanted.query)
    if isinstance(query, QueryProblem):
        raise ConfigError("configuration", f"situations[{i}].query", described(query, wanted.query))
    return query


def _begun(wanted: Sequence[_Wanted], message: LogMessage) -> _Game:
    """Return a game that begins.

    It doesn't have any searches if it is not a Slippi game, or if no query is about one of its players.
    """
    start = msgspec.json.decode(b"{" + message.body, type=dict[str, Any])
    summary = DescribedGame.of_payloads("", start, None).summary()
    try:
        setup = setup_of(start.get("settings") or {})
    except msgspec.ValidationError:
        return _Game(summary, ())
    searches = [_Search(each, LiveSituations(each.query, setup)) for each in wanted]
    return _Game(summary, [search for search in searches if search.live.is_possible])


def _payloads(game_id: str, game: _Game, search: _Search, found: Sequence[Occurrence]) -> Iterator[dict[str, Any]]:
    players = {player.index: player for player in game.summary.players}
    for occurrence in found:
        search.count += 1
        yield {
            "gameId": game_id,
            "name": search.wanted.config.name,
            "query": search.wanted.config.query,
            "number": search.count,
            "player": msgspec.to_builtins(players[occurrence.player_index]),
            "opponent": msgspec.to_builtins(players[occurrence.opponent_index]),
            "frames": list(occurrence.frames),
            "knownFrame": occurrence.known_frame,
        }


def _over(offsets: ConsumerOffsets) -> ConsumerOffsets:
    """Return the offsets of the games that are over. All other games are read again from their beginning."""
    return ConsumerOffsets([offset for offset in offsets.offsets if offset.over])


def _offsets(remembered: Any) -> ConsumerOffsets:
    try:
        return ConsumerOffsets.parse(remembered) if isinstance(remembered, str) else ConsumerOffsets()
    except ProtocolViolation:
        return ConsumerOffsets()
