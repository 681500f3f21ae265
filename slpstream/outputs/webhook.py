"""Signed webhooks: what happens on a station is posted to a URL, at least once, in order.

What is told is made from the log (`game_start`, `game_end`) or handed in (`set`), stored, and posted from there
(`delivery`). A delivery and the place in the log behind it are stored together, so a crash loses none and makes none
twice; only a crash between the answer and our noting it posts one again, with the same `Idempotency-Key`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import trio

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import LogMessage, Topic, timestamp
from slpstream.model.summary import GameSummary, stats_summary
from slpstream.outputs.delivery import Deliverer, Deliveries, Delivery
from slpstream.stream import Batch, Channel, ConsumerOffsets, LogConsumer
from slpstream.system.logs import get_logger

EventName = Literal["game_start", "game_end", "set"]
Describe = Callable[[Mapping[str, Any], Mapping[str, Any] | None], GameSummary]
"""(payload of `game_start`, payload of `game_end` or `None`) to the neutral summary of the game."""

UPCOMING = "upcoming"
"""Instead of the id of a set of which no game has begun."""

_COLLECT_SECONDS = 0.1
_SET_COLLECT_SECONDS = 0.5
"""So that the set is told behind the game that changed it."""
_GAMES_REMEMBERED = 8
_TOPICS: frozenset[Topic] = frozenset({"game", "stats"})
_encode = msgspec.json.Encoder().encode


class _Game(msgspec.Struct):
    """What is kept of a game until its end: the payload of its `game_start` and its newest stats."""

    start: msgspec.Raw
    stats: bytes | None = None


class WebhookSink:
    """One webhook. `run` it once, and `follow` each station."""

    def __init__(
        self,
        deliverer: Deliverer,
        deliveries: Deliveries,
        *,
        id: str,
        name: str,
        events: frozenset[EventName],
        stations: frozenset[str] | None,
        describe: Describe,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`deliverer` posts what is put into `deliveries` under the name `id`; `name` is for logs. `events` is what is
        told, `stations` whose games, `None` for all."""
        self._deliverer = deliverer
        self._store = deliveries
        self._id = id
        self.name = name
        self._events = events
        self._stations = stations
        self._describe = describe
        self._wall_clock = wall_clock
        self._sets: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._sets_changed = trio.Event()
        self._log = get_logger()

    @property
    def gone(self) -> bool:
        """The receiver has said that it does not want any more."""
        return self._deliverer.gone.is_set()

    @property
    def waiting(self) -> int:
        """Deliveries that nobody has taken yet."""
        return self._deliverer.waiting

    @property
    def lag_seconds(self) -> float:
        """How long the oldest of them has been waiting; 0 when none is."""
        return self._deliverer.lag_seconds

    def wants(self, station: str) -> bool:
        """Whether its games are told."""
        return self._stations is None or station in self._stations

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """A set is new or has changed: `payload` of a `set` message. Returns at once; of a set that changes often the
        newest state is told. The same state again, after a restart for instance, is not told again."""
        if "set" in self._events and self.wants(station) and not self.gone:
            self._sets[station, str(payload.get("setId") or UPCOMING)] = payload
            self._sets_changed.set()

    async def run(self) -> None:
        """Posts what waits, and makes deliveries of sets, until cancelled or until the receiver is gone."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_sets)
            await self._deliverer.run()
            nursery.cancel_scope.cancel()

    async def follow(self, channel: Channel) -> None:
        """Makes deliveries of a station's games, until cancelled or until the receiver is gone."""
        if self.wants(channel.station) and self._events - {"set"}:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow, channel)
                await self._deliverer.gone.wait()
                nursery.cancel_scope.cancel()

    # -- making deliveries -------------------------------------------------------------------------------------------

    async def _follow(self, channel: Channel) -> None:
        station = channel.station
        bookmarks, games = _remembered(await self._deliverer.ask(lambda: self._store.place(self._id, station)))
        consumer = LogConsumer(channel, topics=_TOPICS, marks=bookmarks.marks, collect_seconds=_COLLECT_SECONDS)
        lost: str | None = None
        async for batch in consumer:
            made = self._made(station, batch, games)
            bookmarks.note(batch)
            came_back = batch.game_id == lost and batch.gone is None
            lost = None if came_back else lost
            if batch.gone is not None:
                self._log.warning(
                    "webhook is told no more of a game",
                    webhook=self.name,
                    station=station,
                    game_id=batch.game_id,
                    what=batch.gone,
                )
                games.pop(batch.game_id, None)
                lost = batch.game_id
            if made or came_back or batch.gone is not None or batch.messages[-1].type == "metadata":
                running = {game_id: game.start for game_id, game in games.items()}
                await self._store_made(station, made, bookmarks.dump(), _encode(running).decode())

    async def _store_made(self, station: str, made: Sequence[Delivery], bookmarks: str, memory: str) -> None:
        now_ms = int(self._wall_clock() * 1000)
        await self._deliverer.ask(
            lambda: self._store.store(self._id, station, made, now_ms, bookmarks=bookmarks, memory=memory)
        )
        if made:
            self._deliverer.wake()

    def _made(self, station: str, batch: Batch, games: dict[str, _Game]) -> list[Delivery]:
        made: list[Delivery] = []
        for message in batch.messages:
            if message.type == "stats":
                if batch.game_id in games:
                    games[batch.game_id].stats = message.body
            elif message.type == "game_start":
                games[batch.game_id] = _Game(msgspec.Raw(b"{" + message.body))
                while len(games) > _GAMES_REMEMBERED:
                    del games[next(iter(games))]
                if "game_start" in self._events:
                    summary = self._describe(_payload(games[batch.game_id].start), None)
                    made.append(self._delivery(station, message, {"summary": summary}))
            elif message.type == "game_end":
                game = games.pop(batch.game_id, None)
                if "game_end" in self._events:
                    more = {} if game is None else self._about(game, message)
                    made.append(self._delivery(station, message, more))
        return made

    def _about(self, game: _Game, end: LogMessage) -> dict[str, Any]:
        """What a `game_end` is sent with, so that a receiver does not need to keep the `game_start`."""
        start = msgspec.json.decode(game.start, type=dict[str, msgspec.Raw])
        more: dict[str, Any] = {key: start[key] for key in ("format", "settings") if key in start}
        if game.stats is not None:
            more["stats"] = msgspec.Raw(stats_summary(msgspec.json.decode(b"{" + game.stats)["stats"]))
        more["summary"] = self._describe(_payload(game.start), _payload(b"{" + end.body))
        return more

    def _delivery(self, station: str, message: LogMessage, more: Mapping[str, Any]) -> Delivery:
        """The message as everywhere else, with the time at which it was stored and further keys."""
        members = msgspec.json.decode(message.json(station), type=dict[str, msgspec.Raw])
        body = _encode({**members, "at": timestamp(self._wall_clock()), **more})
        return Delivery(message.cursor or "", message.type, body)

    async def _tell_sets(self) -> None:
        while True:
            await self._sets_changed.wait()
            await trio.sleep(_SET_COLLECT_SECONDS)
            self._sets_changed = trio.Event()
            changed, self._sets = self._sets, {}
            for (station, set_id), payload in changed.items():
                if await self._deliverer.ask(partial(self._store_set, station, set_id, payload, self._wall_clock())):
                    self._deliverer.wake()

    def _store_set(self, station: str, set_id: str, payload: Mapping[str, Any], now: float) -> bool:
        """In a worker thread. The key depends on the one before, so a state that comes back is told under another
        one: a receiver that remembers keys does not take it for the old delivery."""
        said = {key: value for key, value in payload.items() if key not in ("at", "cursor")}
        digest = _digest(msgspec.json.encode(said, order="deterministic"))
        before = self._store.told_set(self._id, station, set_id)
        if before is not None and before[0] == digest:
            return False
        behind = "" if before is None else before[1]
        key = f"{set_id}/{_digest(f'{behind} {digest}'.encode())}"
        body = _encode({"type": "set", "station": station, "at": timestamp(now), **said})
        made = Delivery(key, "set", body)
        self._store.store_set(self._id, station, made, int(now * 1000), set_id=set_id, digest=digest)
        return True


_payload = msgspec.json.Decoder(dict[str, Any]).decode


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _remembered(place: tuple[str, str] | None) -> tuple[ConsumerOffsets, dict[str, _Game]]:
    """What was stored; what cannot be read is as if there were none."""
    if place is None:
        return ConsumerOffsets(), {}
    try:
        starts = msgspec.json.decode(place[1], type=dict[str, msgspec.Raw])
        return ConsumerOffsets.parse(place[0]), {game_id: _Game(start.copy()) for game_id, start in starts.items()}
    except (msgspec.DecodeError, ProtocolViolation):
        return ConsumerOffsets(), {}
