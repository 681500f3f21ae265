"""What waits is posted: one delivery at a time, of each station the oldest, until it is taken or given up.

What can be the receiver's trouble (no connection, 5xx, 408, 425, 429, a redirect) holds up the whole webhook for a
while that doubles, or as long as `Retry-After` says; in between, the stations take turns, so one delivery that the
receiver chokes on holds up its own station alone. What can only be the delivery's (other 4xx) is tried a few times,
then given up. 410 ends the webhook until the daemon starts again. Nothing waits longer than `keep_seconds`.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import ssl
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import trio

from slpstream.model.errors import SinkError
from slpstream.outputs.post import Answer, Headers, Target, post, target_of
from slpstream.system.logs import get_logger

Outcome = Literal["delivered", "retried", "rejected", "given_up"]

MAX_WAITING = 10_000
MAX_REFUSALS = 5
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
_MAX_RETRY_AFTER_SECONDS = 3600.0
_STORE_PAUSE_SECONDS = 5.0
_EXPIRY_SECONDS = 60.0
_PASSING_STATUSES = frozenset({408, 425, 429})
_GONE_STATUS = 410

Result = TypeVar("Result")


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


class Send(Protocol):
    """How a body is posted."""

    async def __call__(
        self, target: Target, headers: Headers, body: bytes, *, tls: ssl.SSLContext | None, timeout_seconds: float
    ) -> Answer:
        """Raises `SinkError` when there is no answer."""


class Receiver(NamedTuple):
    """Where deliveries go. `id` names it in the store, across restarts; `name` is for logs and metrics."""

    id: str
    name: str
    url: str
    secret: bytes
    timeout_seconds: float
    keep_seconds: float
    user_agent: str


class Deliverer:
    """Posts the deliveries of one webhook. `run` it once."""

    def __init__(
        self,
        receiver: Receiver,
        deliveries: Deliveries,
        *,
        on_outcome: Callable[[Outcome, int], None] = lambda outcome, count: None,
        send: Send = post,
        wall_clock: Callable[[], float] = time.time,
        chance: random.Random | None = None,
    ) -> None:
        """Raises `ValueError` for a URL that is none."""
        self._receiver = receiver
        self._target = target_of(receiver.url)
        self._store = deliveries
        self._on_outcome = on_outcome
        self._send = send
        self._wall_clock = wall_clock
        self._chance = chance or random.SystemRandom()
        self._limiter = trio.CapacityLimiter(1)
        self._work = trio.Event()
        self._failures = 0
        self._paused_until = 0.0
        self._station_paused_until: dict[str, float] = {}
        self._tried_at: dict[str, float] = {}
        self._refusals: dict[int, int] = {}
        self._oldest_ms: int | None = None
        self._scope = trio.CancelScope()
        self._log = get_logger()
        self.gone = trio.Event()
        """The receiver has said that it does not want any more."""
        self.waiting = 0
        """Deliveries that nobody has taken yet."""

    @property
    def lag_seconds(self) -> float:
        """How long the oldest delivery has been waiting; 0 when none is."""
        return 0.0 if self._oldest_ms is None else max(0.0, self._wall_clock() - self._oldest_ms / 1000)

    def wake(self) -> None:
        """Something was stored."""
        self._work.set()

    async def ask(self, ask: Callable[[], Result]) -> Result:
        """The store, in a worker thread; while it does not work (a full disk) it is asked again and again."""
        said = False
        while True:
            try:
                return await trio.to_thread.run_sync(ask, limiter=self._limiter)
            except SinkError as error:
                if not said:
                    self._log.error("deliveries cannot be stored; trying again", **self._named(), what=error.what)
                said = True
                await trio.sleep(_STORE_PAUSE_SECONDS)

    async def run(self) -> None:
        """Until cancelled, or until the receiver is gone."""
        tls = await trio.to_thread.run_sync(ssl.create_default_context) if self._target.secure else None
        with self._scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._expire)
                await self._deliver(tls)

    async def _deliver(self, tls: ssl.SSLContext | None) -> None:
        while True:
            self._work = trio.Event()
            heads = await self.ask(lambda: self._store.heads(self._receiver.id))
            self.waiting = await self.ask(lambda: self._store.waiting(self._receiver.id))
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

    async def _try(self, head: Waiting, tls: ssl.SSLContext | None) -> None:
        self._tried_at[head.station] = trio.current_time()
        timestamp = int(self._wall_clock())
        headers = [
            ("content-type", "application/json"),
            ("user-agent", self._receiver.user_agent),
            ("idempotency-key", head.key),
            ("x-slpstream-event", head.event),
            ("x-slpstream-timestamp", str(timestamp)),
            ("x-slpstream-signature", signature(self._receiver.secret, timestamp, head.body)),
        ]
        try:
            answer = await self._send(
                self._target, headers, head.body, tls=tls, timeout_seconds=self._receiver.timeout_seconds
            )
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
        await self.ask(lambda: self._store.done(head.id))
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
        if refusals < MAX_REFUSALS:
            self._on_outcome("retried", 1)
            self._station_paused_until[head.station] = trio.current_time() + self._pause_seconds(refusals)
            return
        self._log.error(
            "delivery refused, given up", **self._named(), station=head.station, key=head.key, status=status
        )
        self._station_paused_until.pop(head.station, None)
        await self.ask(lambda: self._store.done(head.id))
        self._on_outcome("rejected", 1)

    def _end(self, head: Waiting) -> None:
        self.gone.set()
        self._log.error(
            "webhook is gone: the receiver wants no more; start the daemon again to try it again",
            **self._named(),
            waiting=self.waiting,
            station=head.station,
        )
        self._scope.cancel()

    async def _expire(self) -> None:
        while True:
            before_ms = self._now_ms() - round(1000 * self._receiver.keep_seconds)
            count = await self.ask(
                partial(self._store.expire, self._receiver.id, before_ms=before_ms, most=MAX_WAITING)
            )
            if count:
                self._log.error("deliveries given up: nobody took them", **self._named(), count=count)
                self._on_outcome("given_up", count)
                self._work.set()
            await trio.sleep(_EXPIRY_SECONDS)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _pause_seconds(self, failures: int) -> float:
        """Doubles each time, up to a minute; somewhere between half of that and all, so that receivers that come back
        are not met by everybody at once."""
        longest: float = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10))
        return longest * self._chance.uniform(0.5, 1.0)

    def _retry_after_seconds(self, text: str) -> float:
        """Seconds, or a date; 0 when it says nothing."""
        seconds = 0.0
        if text.isascii() and text.isdigit():
            seconds = float(text[:9])
        elif text:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - self._wall_clock()
            except (ValueError, OverflowError):  # any number can be in a date
                return 0.0
        return min(max(seconds, 0.0), _MAX_RETRY_AFTER_SECONDS)

    def _named(self) -> dict[str, Any]:
        return {"webhook": self._receiver.name}

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """The value of `X-Slpstream-Signature`: HMAC-SHA256 over the timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret, b"%d." % timestamp + body, hashlib.sha256).hexdigest()
