"""The configured situations of a daemon: looked for in the games of its stations while these are played.

Situations depend on the queries as well as on the bytes of a file, so they are not part of a game's log, and change no
cursor. Each station is followed through its finalized log. A game that goes on after a restart is read again from its
beginning, and gives the same situations with the same numbers, by which the index and other receivers know those that
they had before.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from slpstream.config.sections import Situation
from slpstream.game.described import DescribedGame
from slpstream.model.errors import ConfigError, NoSuchMoment, ProtocolViolation
from slpstream.model.messages import LogMessage, timestamp
from slpstream.model.query_problem import QueryProblem
from slpstream.model.summary import GameSummary
from slpstream.model.topics import Topic
from slpstream.parts.services import MAX_WORDS, Marks, NewMark
from slpstream.search.situations import LiveSituations, Occurrence, Query, described, frame_of, parse, setup_of
from slpstream.store import FoundSituation, GameIndex
from slpstream.stream import Channel, ConsumedBatch, ConsumerOffsets, LogConsumer
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics

_TOPICS: frozenset[Topic] = frozenset({"game", "frame"})
_KEPT_GAMES = 8

Receive = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Takes a station and the payload of a situation; returns when it may be forgotten."""
Show = Callable[[str, Mapping[str, Any]], None]
"""Takes the same of a situation in the game that is played. Returns at once."""


class _Wanted(NamedTuple):
    """A configured situation."""

    config: Situation
    query: Query


class _Search:
    """The search for one situation in one game. `count` is how many were found."""

    __slots__ = ("count", "live", "wanted")

    def __init__(self, wanted: _Wanted, live: LiveSituations) -> None:
        self.wanted = wanted
        self.live = live
        self.count = 0


class _Game(NamedTuple):
    """A game that is searched."""

    summary: GameSummary
    searches: Sequence[_Search]


class DaemonSituations:
    """The situations of one daemon. Start `follow` for each station."""

    def __init__(self, wanted: Sequence[Situation], metrics: Metrics) -> None:
        """Raises `ConfigError` for an invalid query."""
        self._marked = {each.name for each in wanted if each.mark}
        self._scores = {each.name: each.score for each in wanted if each.highlight}
        self._wanted = [_Wanted(each, _query(each, i)) for i, each in enumerate(wanted)]
        self._metrics = metrics
        self._receivers: list[Receive] = []
        self._shows: list[Show] = []
        self._log = get_logger()

    def tell(self, receive: Receive) -> None:
        """Add a receiver of everything that is found. It may get the situations of a game again after a restart."""
        self._receivers.append(receive)

    def show(self, show: Show) -> None:
        """Add a receiver of what is found in games that are being played, each once."""
        self._shows.append(show)

    def mark(self, marks: Marks) -> None:
        """Mark the moments of the situations that are configured to be marked, each once."""
        if self._marked:
            self.tell(partial(_mark, marks, self._marked))

    async def follow(self, index: GameIndex, channel: Channel) -> None:
        """Search the games of a station until cancelled."""
        station = channel.station
        wanted = [each for each in self._wanted if not each.config.stations or station in each.config.stations]
        if not wanted:
            return
        key = f"situations.{station}"
        offsets = _offsets(await index.remembered(key))
        games: dict[str, _Game] = {}
        async for batch in LogConsumer(channel, frames="finalized", topics=_TOPICS, offsets=offsets.offsets):
            for payload in self._search(wanted, batch, games):
                self._metrics.counter("slpstream_situations_total", station).inc()
                self._log.info(
                    "situation found",
                    station=station,
                    game_id=batch.game_id,
                    situation=payload["name"],
                    frames=payload["frames"],
                )
                found_at_ms = round(1000 * time.time())
                score = self._scores.get(payload["name"])
                is_new = await index.keep_situation(FoundSituation(station, payload, found_at_ms, score))
                for receive in self._receivers:
                    await receive(station, payload)
                if is_new and any(game.game_id == batch.game_id and game.is_played for game in channel.games):
                    channel.publish_situation({"at": timestamp(found_at_ms / 1000), **payload})
                    for show in self._shows:
                        show(station, payload)
            was_over = len(_over(offsets))
            offsets.note(batch)
            over = _over(offsets)
            if len(over) != was_over:
                index.remember(key, over.dump())

    def _search(
        self, wanted: Sequence[_Wanted], batch: ConsumedBatch, games: dict[str, _Game]
    ) -> Iterator[dict[str, Any]]:
        """The payloads of the situations that a batch makes known. Updates `games`, those that are played."""
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
                    yield from _payloads(game_id, game, search, search.live.feed(frame))
            elif message.type == "game_end":
                for search in game.searches:
                    yield from _payloads(game_id, game, search, search.live.finish())
                del games[game_id]
        if batch.gone is not None:
            games.pop(game_id, None)


def _query(wanted: Situation, i: int) -> Query:
    query = parse(wanted.query)
    if isinstance(query, QueryProblem):
        raise ConfigError("configuration", f"situations[{i}].query", described(query, wanted.query))
    return query


def _begun(wanted: Sequence[_Wanted], message: LogMessage) -> _Game:
    """A game that begins; it has no searches if it is not one of Slippi, or has no player that a query is about."""
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
    """The offsets of games that are over. Others are read again from their beginning."""
    return ConsumerOffsets([offset for offset in offsets.offsets if offset.over])


def _offsets(remembered: Any) -> ConsumerOffsets:
    try:
        return ConsumerOffsets.parse(remembered) if isinstance(remembered, str) else ConsumerOffsets()
    except ProtocolViolation:
        return ConsumerOffsets()


async def _mark(marks: Marks, marked: set[str], station: str, payload: Mapping[str, Any]) -> None:
    game_id, frame, words = payload["gameId"], payload["frames"][-1], payload["name"][:MAX_WORDS]
    if payload["name"] not in marked:
        return
    known = await marks.marks(station) or []
    if any((mark.game_id, mark.frame, mark.words) == (game_id, frame, words) for mark in known):
        return
    try:
        await marks.mark(station, NewMark(frame=frame, game_id=game_id, words=words))
    except NoSuchMoment as error:
        get_logger().warning("situation not marked", station=station, game_id=game_id, what=str(error))
