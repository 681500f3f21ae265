"""Signed webhooks: what happens on a station is posted to a URL, at least once, in order.

What is told is made from the log (`game_start`, `game_end`) or handed in (`set`), stored, and posted from there. A
delivery and the place in the log behind it are stored together, so a crash loses none and makes none twice; only a
crash between the answer and our noting it posts one again, with the same `Idempotency-Key`.

One delivery of a webhook is posted at a time, and of a station only the oldest. What can be the receiver's trouble
(no connection, 5xx, 408, 429, a redirect) holds up the whole webhook for a while that doubles, or as long as
`Retry-After` says; in between, the stations take turns, so one delivery that the receiver chokes on holds up its own
station alone. What can only be the delivery's (other 4xx) is tried a few times, then given up. 410 ends the webhook
until the daemon starts again. Nothing waits longer than `keep_seconds`.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec
import trio

from slpstream.errors import ProtocolViolation, SinkError
from slpstream.logs import get_logger
from slpstream.messages import LogMessage, Topic
from slpstream.sinks.post import Target, post, target_of
from slpstream.stream import Batch, Bookmarks, Channel, Tap

EventName = Literal["game_start", "game_end", "set"]
Outcome = Literal["delivered", "retried", "rejected", "given_up"]
Summarise = Callable[[Any], bytes]
"""The stats of a game to what of them is told, as JSON."""

UPCOMING = "upcoming"
"""Instead of the id of a set of which no game has begun."""

MOST_WAITING = 10_000
MOST_REFUSALS = 5
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
_LONGEST_RETRY_AFTER_SECONDS = 3600.0
_COLLECT_SECONDS = 0.1
_SET_COLLECT_SECONDS = 0.5
"""So that the set is told behind the game that changed it."""
_EXPIRY_SECONDS = 60.0
_GAMES_REMEMBERED = 8
_TOPICS: frozenset[Topic] = frozenset({"game", "stats"})
_PASSING_STATUSES = frozenset({408, 425, 429})
_GONE_STATUS = 410

Result = TypeVar("Result")
_encode = msgspec.json.Encoder().encode


class Delivery(NamedTuple):
    """One to be stored."""

    key: str
    event: str
    body: bytes


class Waiting(Protocol):
    """One that is stored."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def station(self) -> str:
        """Whose it is."""

    @property
    def key(self) -> str:
        """The same each time it is posted."""

    @property
    def event(self) -> str:
        """What it is about."""

    @property
    def body(self) -> bytes:
        """JSON."""

    @property
    def stored_at_ms(self) -> int:
        """Unix time."""


class Deliveries(Protocol):
    """Where deliveries wait. All methods block, and raise `SinkError` for what may be over soon: a full disk."""

    def place(self, webhook: str, station: str) -> tuple[str, str] | None:
        """Bookmarks and memory as they were stored."""

    def store(
        self, webhook: str, station: str, made: Sequence[Delivery], now_ms: int, *, bookmarks: str, memory: str
    ) -> None:
        """Deliveries, and the place in the log behind them, all or nothing; those that wait already are passed over."""

    def told_set(self, webhook: str, station: str, set_id: str) -> tuple[str, str] | None:
        """Digest and key of what was told last of a set."""

    def store_set(self, webhook: str, station: str, made: Delivery, now_ms: int, *, set_id: str, digest: str) -> None:
        """A delivery about a set."""

    def heads(self, webhook: str) -> Sequence[Waiting]:
        """The oldest that waits, of each station."""

    def done(self, id: int) -> None:
        """It was taken, or given up."""

    def waiting(self, webhook: str) -> int:
        """How many wait."""

    def expire(self, webhook: str, *, before_ms: int, most: int) -> int:
        """Gives up those that are older, and the oldest beyond `most`; how many that were."""


class _Game(msgspec.Struct):
    """What is remembered of a game until its end: the payload of its `game_start`, its newest stats."""

    start: msgspec.Raw
    stats: bytes | None = None


class WebhookSink:
    """One webhook. `run` it once, and `follow` each station."""

    def __init__(
        self,
        url: str,
        secret: bytes,
        deliveries: Deliveries,
        *,
        id: str,
        name: str,
        events: frozenset[EventName],
        stations: frozenset[str] | None,
        timeout_seconds: float,
        keep_seconds: float,
        user_agent: str,
        summarise: Summarise,
        on_outcome: Callable[[Outcome, int], None] = lambda outcome, count: None,
        wall_clock: Callable[[], float] = time.time,
        chance: random.Random | None = None,
    ) -> None:
        """`id` names it in the store, across restarts; `name` is for logs and metrics. `events` is what is told,
        `stations` whose games, `None` for all. Raises `ValueError` for a URL that is none."""
        self._target: Target = target_of(url)
        self._secret = secret
        self._store = deliveries
        self.id = id
        self.name = name
        self._events = events
        self._stations = stations
        self._timeout_seconds = timeout_seconds
        self._keep_seconds = keep_seconds
        self._user_agent = user_agent
        self._summarise = summarise
        self._on_outcome = on_outcome
        self._wall_clock = wall_clock
        self._chance = chance or random.SystemRandom()
        self._limiter = trio.CapacityLimiter(1)
        self._work = trio.Event()
        self._sets: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._sets_changed = trio.Event()
        self._scopes: set[trio.CancelScope] = set()
        self._failures = 0
        self._paused_until = 0.0
        self._station_paused_until: dict[str, float] = {}
        self._tried_at: dict[str, float] = {}
        self._refusals: dict[int, int] = {}
        self.gone = False
        """The receiver has said that it does not want any more."""
        self.waiting = 0
        """Deliveries that nobody has taken yet."""
        self._oldest_ms: int | None = None
        self._log = get_logger()

    @property
    def lag_seconds(self) -> float:
        """How long the oldest delivery has been waiting; 0 when none is."""
        return 0.0 if self._oldest_ms is None else max(0.0, self._wall_clock() - self._oldest_ms / 1000)

    def wants(self, station: str) -> bool:
        """Whether its games are told."""
        return self._stations is None or station in self._stations

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """A set is new or has changed: `payload` of a `set` message. Returns at once; of a set that changes often the
        newest state is told. The same state again, after a restart for instance, is not told again."""
        if "set" in self._events and self.wants(station) and not self.gone:
            self._sets[station, str(payload.get("setId") or UPCOMING)] = payload
            self._sets_changed.set()

    # -- making deliveries -------------------------------------------------------------------------------------------

    async def follow(self, channel: Channel) -> None:
        """Makes deliveries of a station's games, until cancelled."""
        if not self.wants(channel.station) or self.gone or not self._events - {"set"}:
            return
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                await self._follow(channel)
            finally:
                self._scopes.discard(scope)

    async def _follow(self, channel: Channel) -> None:
        station = channel.station
        bookmarks, games = _remembered(await self._ask(lambda: self._store.place(self.id, station)))
        tap = Tap(channel, topics=_TOPICS, marks=bookmarks.marks, collect_seconds=_COLLECT_SECONDS)
        async for batch in tap:
            made = self._made(station, batch, games)
            bookmarks.note(batch)
            if batch.gone is not None:
                self._log.warning("webhook misses messages", **self._named(), station=station, what=batch.gone)
                games.pop(batch.game_id, None)
            if made or batch.gone is not None or batch.messages[-1].type == "metadata":
                running = {game_id: game.start for game_id, game in games.items()}
                await self._store_made(station, made, bookmarks.dump(), _encode(running).decode())

    async def _store_made(self, station: str, made: Sequence[Delivery], bookmarks: str, memory: str) -> None:
        now_ms = self._now_ms()
        await self._ask(lambda: self._store.store(self.id, station, made, now_ms, bookmarks=bookmarks, memory=memory))
        if made:
            self._work.set()

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
                    made.append(self._delivery(station, message, {}))
            elif message.type == "game_end":
                more = self._of_game(games.pop(batch.game_id, None))
                if "game_end" in self._events:
                    made.append(self._delivery(station, message, more))
        return made

    def _of_game(self, game: _Game | None) -> dict[str, Any]:
        """What a `game_end` is told with, so that a receiver need not have kept the `game_start`."""
        if game is None:
            return {}
        start = msgspec.json.decode(game.start, type=dict[str, msgspec.Raw])
        more: dict[str, Any] = {key: start[key] for key in ("format", "settings") if key in start}
        if game.stats is not None:
            more["stats"] = msgspec.Raw(self._summarise(msgspec.json.decode(b"{" + game.stats)["stats"]))
        return more

    def _delivery(self, station: str, message: LogMessage, more: Mapping[str, Any]) -> Delivery:
        """The message as everywhere, with when it was stored, and what belongs to it."""
        told = msgspec.json.decode(message.json(station), type=dict[str, msgspec.Raw])
        body = _encode({**told, "at": self._timestamp(), **more})
        return Delivery(message.cursor or "", message.type, body)

    async def _tell_sets(self) -> None:
        while True:
            await self._sets_changed.wait()
            await trio.sleep(_SET_COLLECT_SECONDS)
            self._sets_changed = trio.Event()
            changed, self._sets = self._sets, {}
            for (station, set_id), payload in changed.items():
                if await self._ask(lambda s=station, i=set_id, p=payload: self._store_set(s, i, p)):  # type: ignore[misc]
                    self._work.set()

    def _store_set(self, station: str, set_id: str, payload: Mapping[str, Any]) -> bool:
        """In a worker thread. The key depends on the one before, so a state that comes back is told under another
        one: a receiver that remembers keys does not take it for the old delivery."""
        said = {key: value for key, value in payload.items() if key not in ("at", "cursor")}
        digest = _digest(msgspec.json.encode(said, order="deterministic"))
        before = self._store.told_set(self.id, station, set_id)
        if before is not None and before[0] == digest:
            return False
        behind = "" if before is None else before[1]
        key = f"{set_id}/{_digest(f'{behind} {digest}'.encode())}"
        body = _encode({"type": "set", "station": station, "at": self._timestamp(), **said})
        made = Delivery(key, "set", body)
        self._store.store_set(self.id, station, made, self._now_ms(), set_id=set_id, digest=digest)
        return True

    # -- delivering --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Posts what waits, until cancelled or until the receiver is gone."""
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            tls = await trio.to_thread.run_sync(ssl.create_default_context)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._tell_sets)
                nursery.start_soon(self._expire)
                await self._deliver(tls)
        self._scopes.discard(scope)

    async def _deliver(self, tls: ssl.SSLContext) -> None:
        while True:
            self._work = trio.Event()
            heads = await self._ask(lambda: self._store.heads(self.id))
            self.waiting = await self._ask(lambda: self._store.waiting(self.id))
            self._oldest_ms = min((head.stored_at_ms for head in heads), default=None)
            self._forget_all_but(heads)
            head = self._due(heads)
            if head is not None:
                await self._try(head, tls)
                continue
            with trio.move_on_at(min((self._due_at(head.station) for head in heads), default=float("inf"))):
                await self._work.wait()

    def _due_at(self, station: str) -> float:
        return max(self._paused_until, self._station_paused_until.get(station, 0.0))

    def _due(self, heads: Sequence[Waiting]) -> Waiting | None:
        """Whose turn it is: of those that may be posted now, the station that has waited for its turn the longest."""
        now = trio.current_time()
        due = [head for head in heads if self._due_at(head.station) <= now]
        return min(due, key=lambda head: (self._tried_at.get(head.station, 0.0), head.id), default=None)

    def _forget_all_but(self, heads: Sequence[Waiting]) -> None:
        stations, ids = {head.station for head in heads}, {head.id for head in heads}
        for known in (self._station_paused_until, self._tried_at):
            for station in known.keys() - stations:
                del known[station]
        self._refusals = {id: count for id, count in self._refusals.items() if id in ids}

    async def _try(self, head: Waiting, tls: ssl.SSLContext) -> None:
        self._tried_at[head.station] = trio.current_time()
        timestamp = int(self._wall_clock())
        headers = [
            ("content-type", "application/json"),
            ("user-agent", self._user_agent),
            ("idempotency-key", head.key),
            ("x-slpstream-event", head.event),
            ("x-slpstream-timestamp", str(timestamp)),
            ("x-slpstream-signature", signature(self._secret, timestamp, head.body)),
        ]
        try:
            answer = await post(self._target, headers, head.body, tls=tls, timeout_seconds=self._timeout_seconds)
        except SinkError as error:
            self._failed(head, error.what, 0.0)
            return
        if 200 <= answer.status < 300:
            await self._delivered(head)
        elif answer.status == _GONE_STATUS:
            self._end(head)
        elif 400 <= answer.status < 500 and answer.status not in _PASSING_STATUSES:
            await self._refused(head, answer.status)
        else:
            self._failed(head, f"status {answer.status}", self._retry_after_seconds(answer.retry_after))

    async def _delivered(self, head: Waiting) -> None:
        if self._failures:
            self._log.info("webhook takes deliveries again", **self._named(), waiting=self.waiting)
        self._failures, self._paused_until = 0, 0.0
        await self._ask(lambda: self._store.done(head.id))
        self._on_outcome("delivered", 1)
        self._log.debug("delivered", **self._named(), station=head.station, key=head.key)

    def _failed(self, head: Waiting, what: str, retry_after_seconds: float) -> None:
        """The receiver's trouble."""
        say = self._log.debug if self._failures else self._log.warning
        self._failures += 1
        self._on_outcome("retried", 1)
        pause_seconds = max(self._pause_seconds(self._failures), retry_after_seconds)
        self._paused_until = trio.current_time() + pause_seconds
        say("webhook does not take deliveries", **self._named(), what=what, waiting=self.waiting, station=head.station)

    async def _refused(self, head: Waiting, status: int) -> None:
        """The delivery's own trouble."""
        self._failures, self._paused_until = 0, 0.0
        refusals = self._refusals[head.id] = self._refusals.get(head.id, 0) + 1
        if refusals < MOST_REFUSALS:
            self._on_outcome("retried", 1)
            self._station_paused_until[head.station] = trio.current_time() + self._pause_seconds(refusals)
            return
        self._log.error(
            "delivery refused, given up", **self._named(), station=head.station, key=head.key, status=status
        )
        self._station_paused_until.pop(head.station, None)
        await self._ask(lambda: self._store.done(head.id))
        self._on_outcome("rejected", 1)

    def _end(self, head: Waiting) -> None:
        self.gone = True
        self._log.error(
            "webhook is gone: the receiver wants no more; start the daemon again to try it again",
            **self._named(),
            waiting=self.waiting,
            station=head.station,
        )
        for scope in self._scopes:
            scope.cancel()

    async def _expire(self) -> None:
        while True:
            before_ms = self._now_ms() - round(1000 * self._keep_seconds)
            count = await self._ask(lambda ms=before_ms: self._store.expire(self.id, before_ms=ms, most=MOST_WAITING))  # type: ignore[misc]
            if count:
                self._log.error("deliveries given up: nobody took them", **self._named(), count=count)
                self._on_outcome("given_up", count)
                self._work.set()
            await trio.sleep(_EXPIRY_SECONDS)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _pause_seconds(self, failures: int) -> float:
        """Doubles each time, up to a minute; somewhere between half of that and all, so that receivers that come back
        are not met by everybody at once."""
        longest: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10))
        return longest * self._chance.uniform(0.5, 1.0)

    def _retry_after_seconds(self, text: str) -> float:
        """Seconds, or a date; 0 when it says nothing."""
        seconds = 0.0
        if text.isascii() and text.isdigit():
            seconds = float(text[:9])
        elif text:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - self._wall_clock()
            except ValueError:
                return 0.0
        return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER_SECONDS)

    async def _ask(self, ask: Callable[[], Result]) -> Result:
        """The store, in a worker thread; while it does not work (a full disk) it is asked again and again."""
        said = False
        while True:
            try:
                return await trio.to_thread.run_sync(ask, limiter=self._limiter)
            except SinkError as error:
                if not said:
                    self._log.error("deliveries cannot be stored; trying again", **self._named(), what=error.what)
                said = True
                await trio.sleep(self._pause_seconds(4))

    def _named(self) -> dict[str, Any]:
        return {"webhook": self.name}

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)

    def _timestamp(self) -> str:
        text = datetime.fromtimestamp(self._wall_clock(), UTC).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """The value of `X-Slpstream-Signature`: HMAC-SHA256 over the timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret, b"%d." % timestamp + body, hashlib.sha256).hexdigest()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _remembered(place: tuple[str, str] | None) -> tuple[Bookmarks, dict[str, _Game]]:
    """What was stored; what cannot be read is as if there were none."""
    if place is None:
        return Bookmarks(), {}
    try:
        starts = msgspec.json.decode(place[1], type=dict[str, msgspec.Raw])
        return Bookmarks.parse(place[0]), {game_id: _Game(start.copy()) for game_id, start in starts.items()}
    except (msgspec.DecodeError, ProtocolViolation):
        return Bookmarks(), {}
