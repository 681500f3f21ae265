"""Signed webhooks. The games and sets of stations are posted to a URL, at least once and in order.

Deliveries are made from the log (`game_start`, `game_end`), from `set_changed` (`set`) or from `situation_found`
(`situation`). They are stored, and `delivery` posts them from the store. Each delivery is stored together with the
offset in the log after it, so even if there's a crash, no delivery is lost or made twice. There's only one case in
which a delivery can be posted again: if the crash happens after the response, but before we have noted it. Then it has
the same `Idempotency-Key`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import trio

from slpstream.daemon.set_news import SetNews
from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import read_json
from slpstream.model.messages import LogMessage, timestamp
from slpstream.model.summary import GameSummary, stats_summary
from slpstream.model.topics import Topic
from slpstream.parts.services import Deliverer, Delivery, DeliveryStore
from slpstream.stream.channel import Channel
from slpstream.stream.log_consumer import ConsumedBatch, ConsumerOffsets, LogConsumer
from slpstream.system.logs import get_logger

EventName = Literal["game_start", "game_end", "set", "situation"]
Describe = Callable[[Mapping[str, Any], Mapping[str, Any] | None], GameSummary]
"""(payload of `game_start`, payload of `game_end` or `None`) to the neutral summary of the game."""

UPCOMING = "upcoming"
"""Replaces the set id for a set in which no game has begun."""

_COLLECT_SECONDS = 0.1
_SET_COLLECT_SECONDS = 0.5
"""Long enough for the game that changed the set to be delivered first."""
_KEPT_GAMES = 8
_TOPICS: frozenset[Topic] = frozenset({"game", "stats"})
_encode = msgspec.json.Encoder().encode


class _Game(msgspec.Struct):
    """A game that is running, with the payload of its `game_start` and its newest stats."""

    start: msgspec.Raw
    stats: bytes | None = None


class WebhookSink:
    """One webhook.

    You should call `run` in exactly one task, and call it again if a bug has ended it. Also, start `follow` for each
    station.
    """

    def __init__(
        self,
        deliverer: Deliverer,
        store: DeliveryStore,
        *,
        id: str,
        name: str,
        events: frozenset[EventName],
        stations: frozenset[str] | None,
        describe: Describe,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`deliverer` posts the deliveries that are put into `store` under `id`. `name` is used for logs and metrics.

        `events` are those that should be delivered. `stations` are those whose games count. If it is `None`, all of
        them do.
        """
        self._deliverer = deliverer
        self._store = store
        self._id = id
        self.name = name
        self._events = events
        self._stations = stations
        self._describe = describe
        self._wall_clock = wall_clock
        self._sets = SetNews[Mapping[str, Any]](_SET_COLLECT_SECONDS)
        self._log = get_logger()

    @property
    def gone(self) -> bool:
        """Whether the receiver has answered with 410."""
        return self._deliverer.gone.is_set()

    def wants(self, station: str) -> bool:
        """Whether the games of the given station should be delivered."""
        return self._stations is None or station in self._stations

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of the given station. This doesn't wait.

        If a set changes often, we only deliver its newest state. If this is the same state that was delivered last,
        which can happen after a restart, it isn't delivered again.
        """
        if "set" in self._events and self.wants(station) and not self.gone:
            self._sets.put(station, str(payload.get("setId") or UPCOMING), payload)

    async def situation_found(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take a situation that was found in a game of the given station, and return when its delivery is stored.

        You have to pass the situations of a game in order, and after a restart, again from the first one on. `number`
        counts those of one query in one game, so this is how we know whether a situation was already delivered.
        """
        if "situation" not in self._events or not self.wants(station) or self.gone:
            return
        if await self._deliverer.call_store(partial(self._store_situation, station, payload, self._wall_clock())):
            self._deliverer.wake()

    def _store_situation(self, station: str, payload: Mapping[str, Any], now: float) -> bool:
        """Store a delivery of a situation, unless there was already one. Returns whether it was stored. This blocks."""
        game_id, number = payload["gameId"], payload["number"]
        digest = _digest(_encode([payload["name"], payload["query"]]))
        of_game = f"situation/{game_id}/{digest}"
        last = self._store.last_of_set(self._id, station, of_game)
        if last is not None and int(last[0]) >= number:
            return False
        body = _encode({"type": "situation", "station": station, "at": timestamp(now), **payload})
        delivery = Delivery(f"{of_game}/{number}", "situation", body)
        self._store.store_set(self._id, station, delivery, int(now * 1000), set_id=of_game, digest=str(number))
        return True

    async def run(self) -> None:
        """Post deliveries, and make deliveries of sets, until cancelled or until the receiver is gone."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sets.store_each, self._deliver_set)
            await self._deliverer.run()
            nursery.cancel_scope.cancel()

    async def follow(self, channel: Channel) -> None:
        """Make deliveries of the games of a station until cancelled or until the receiver is gone."""
        if self.wants(channel.station) and self._events - {"set", "situation"}:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow, channel)
                await self._deliverer.gone.wait()
                nursery.cancel_scope.cancel()

    async def _follow(self, channel: Channel) -> None:
        station = channel.station
        progress = await self._deliverer.call_store(lambda: self._store.progress(self._id, station))
        offsets, games = _parse_progress(progress)
        consumer = LogConsumer(channel, topics=_TOPICS, offsets=offsets.offsets, collect_seconds=_COLLECT_SECONDS)
        lost: str | None = None
        async for batch in consumer:
            deliveries = self._deliveries(station, batch, games)
            offsets.note(batch)
            came_back = batch.game_id == lost and batch.gone is None
            lost = None if came_back else lost
            if batch.gone is not None:
                self._log.warning(
                    "webhook misses the rest of a game",
                    webhook=self.name,
                    station=station,
                    game_id=batch.game_id,
                    what=batch.gone,
                )
                games.pop(batch.game_id, None)
                lost = batch.game_id
            if deliveries or came_back or batch.gone is not None or batch.messages[-1].type == "metadata":
                running = {game_id: game.start for game_id, game in games.items()}
                await self._store_deliveries(station, deliveries, offsets.dump(), _encode(running).decode())

    async def _store_deliveries(
        self, station: str, deliveries: Sequence[Delivery], offsets: str, running_games: str
    ) -> None:
        now_ms = int(self._wall_clock() * 1000)
        await self._deliverer.call_store(
            lambda: self._store.store(
                self._id, station, deliveries, now_ms, offsets=offsets, running_games=running_games
            )
        )
        if deliveries:
            self._deliverer.wake()

    def _deliveries(self, station: str, batch: ConsumedBatch, games: dict[str, _Game]) -> list[Delivery]:
        """Make the deliveries for the given batch. This also updates `games`, which are those that are running."""
        deliveries: list[Delivery] = []
        for message in batch.messages:
            if message.type == "stats":
                if batch.game_id in games:
                    games[batch.game_id].stats = message.body
            elif message.type == "game_start":
                games[batch.game_id] = _Game(msgspec.Raw(b"{" + message.body))
                while len(games) > _KEPT_GAMES:
                    del games[next(iter(games))]
                if "game_start" in self._events:
                    summary = self._describe(_payload(games[batch.game_id].start), None)
                    deliveries.append(self._delivery(station, message, {"summary": summary}))
            elif message.type == "game_end":
                game = games.pop(batch.game_id, None)
                if "game_end" in self._events:
                    more = {} if game is None else self._about(game, message)
                    deliveries.append(self._delivery(station, message, more))
        return deliveries

    def _about(self, game: _Game, end: LogMessage) -> dict[str, Any]:
        """Return some more keys for a `game_end`. With these, a receiver doesn't have to keep the `game_start`."""
        start = msgspec.json.decode(game.start, type=dict[str, msgspec.Raw])
        more: dict[str, Any] = {key: start[key] for key in ("format", "settings") if key in start}
        if game.stats is not None:
            more["stats"] = msgspec.Raw(stats_summary(msgspec.json.decode(b"{" + game.stats)["stats"]))
        more["summary"] = self._describe(_payload(game.start), _payload(b"{" + end.body))
        return more

    def _delivery(self, station: str, message: LogMessage, more: Mapping[str, Any]) -> Delivery:
        """Return a delivery of the message.

        It contains the same as for subscribers, plus the time when it was stored and some more keys.
        """
        members = msgspec.json.decode(message.json(station), type=dict[str, msgspec.Raw])
        body = _encode({**members, "at": timestamp(self._wall_clock()), **more})
        return Delivery(message.cursor or "", message.type, body)

    async def _deliver_set(self, station: str, set_id: str, payload: Mapping[str, Any]) -> None:
        if await self._deliverer.call_store(partial(self._store_set, station, set_id, payload, self._wall_clock())):
            self._deliverer.wake()

    def _store_set(self, station: str, set_id: str, payload: Mapping[str, Any], now: float) -> bool:
        """Store a delivery of a set, unless it is still in the state that was delivered last. Returns whether it was
        stored. This blocks.

        The key depends on the key of the previous delivery. So if a state comes back, it has a new key. Otherwise, a
        receiver that remembers keys would mistake it for the old delivery.
        """
        state = {key: value for key, value in payload.items() if key not in ("at", "cursor")}
        digest = _digest(msgspec.json.encode(state, order="deterministic"))
        last = self._store.last_of_set(self._id, station, set_id)
        if last is not None and last[0] == digest:
            return False
        last_key = "" if last is None else last[1]
        key = f"{set_id}/{_digest(f'{last_key} {digest}'.encode())}"
        body = _encode({"type": "set", "station": station, "at": timestamp(now), **state})
        delivery = Delivery(key, "set", body)
        self._store.store_set(self._id, station, delivery, int(now * 1000), set_id=set_id, digest=digest)
        return True


_payload = msgspec.json.Decoder(dict[str, Any]).decode


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _parse_progress(progress: tuple[str, str] | None) -> tuple[ConsumerOffsets, dict[str, _Game]]:
    """Parse the offsets and running games that were stored.

    If nothing was stored, or if it is damaged, they are empty.
    """
    if progress is None:
        return ConsumerOffsets(), {}
    offsets, running_games = progress
    try:
        starts = read_json(running_games.encode(), dict[str, msgspec.Raw], ProtocolViolation)
        return ConsumerOffsets.parse(offsets), {game_id: _Game(start.copy()) for game_id, start in starts.items()}
    except ProtocolViolation:
        return ConsumerOffsets(), {}
