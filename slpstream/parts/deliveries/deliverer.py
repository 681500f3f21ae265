"""Posts the stored deliveries of a webhook.

The deliveries of a station are posted in order, and each one is tried until it is accepted or we give it up.

Some failures may be the fault of the receiver: no connection, a redirect, or the status 5xx, 408, 425 or 429. These
pause the whole webhook, with exponential backoff or for as long as `Retry-After` asks. Between attempts, the stations
take turns. This way, a delivery that breaks the receiver only delays its own station. All other failures (any other
4xx) must be the fault of the delivery. It is tried a few more times and then given up. The status 410 stops the webhook
until the daemon restarts. A delivery never waits for longer than `keep_seconds`.
"""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Literal, TypeVar

import trio

from slpstream.model.errors import SinkError
from slpstream.parts.deliveries.store import DeliveryStore, StoredDelivery
from slpstream.parts.services import Receiver
from slpstream.system.backoff import backoff_seconds
from slpstream.system.http_client import Post, post, signature, target_of
from slpstream.system.logs import get_logger

Outcome = Literal["delivered", "retried", "rejected", "given_up"]

MAX_WAITING = 10_000
MAX_REFUSALS = 5
FIRST_PAUSE_SECONDS = 1.0
_MAX_RETRY_AFTER_SECONDS = 3600.0
_STORE_PAUSE_SECONDS = 5.0
_EXPIRY_SECONDS = 60.0
_TEMPORARY_STATUSES = frozenset({408, 425, 429})
_GONE_STATUS = 410

Result = TypeVar("Result")


class _Schedule:
    """Decides when the oldest delivery of each station may be posted. All times are those of the event loop."""

    def __init__(self) -> None:
        self.failures = 0
        """How many times in a row posting has failed for a reason that may be the receiver's."""
        self.paused_until = 0.0
        self.station_paused_until: dict[str, float] = {}
        self.tried_at: dict[str, float] = {}
        """The time of the last attempt, by station."""
        self._refusals: dict[int, int] = {}

    def due_at(self, station: str) -> float:
        """Return the earliest time of the next attempt for the given station."""
        return max(self.paused_until, self.station_paused_until.get(station, 0.0))

    def next_due(self, heads: Sequence[StoredDelivery]) -> StoredDelivery | None:
        """Return the delivery that should be posted now, or `None` if all stations have to wait.

        Among the stations that aren't paused, we choose the one that was tried longest ago.
        """
        now = trio.current_time()
        due = [head for head in heads if self.due_at(head.station) <= now]
        return min(due, key=lambda head: (self.tried_at.get(head.station, 0.0), head.id), default=None)

    def forget_all_but(self, heads: Sequence[StoredDelivery]) -> None:
        """Forget the stations and deliveries that aren't waiting any more."""
        stations, ids = {head.station for head in heads}, {head.id for head in heads}
        for times in (self.station_paused_until, self.tried_at):
            for station in times.keys() - stations:
                del times[station]
        self._refusals = {id: count for id, count in self._refusals.items() if id in ids}

    def accept(self) -> None:
        """Note that the receiver works, which ends its pause."""
        self.failures, self.paused_until = 0, 0.0

    def refuse(self, id: int) -> int:
        """Count a refusal of the given delivery, and return how many there are now."""
        self._refusals[id] = self._refusals.get(id, 0) + 1
        return self._refusals[id]


class Deliverer:
    """Posts the deliveries of one webhook. Call `run` in one task, and call it again after a bug."""

    def __init__(
        self,
        receiver: Receiver,
        store: DeliveryStore,
        *,
        on_outcome: Callable[[Outcome, int], None] = lambda outcome, count: None,
        post: Post = post,
        wall_clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        """`on_outcome` is called with an outcome and the number of deliveries that had it.

        Raises `ValueError` if the URL isn't valid.
        """
        self._receiver = receiver
        self.name = receiver.name
        self._target = target_of(receiver.url)
        self._store = store
        self._on_outcome = on_outcome
        self._post = post
        self._wall_clock = wall_clock
        self._rng = rng or random.SystemRandom()
        self._limiter = trio.CapacityLimiter(1)
        self._work = trio.Event()
        self._schedule = _Schedule()
        self._oldest_ms: int | None = None
        self._log = get_logger()
        self.gone = trio.Event()
        """This is set once the receiver has answered 410."""
        self.waiting = 0
        """The number of deliveries that the receiver hasn't accepted yet."""

    @property
    def lag_seconds(self) -> float:
        """How long the oldest delivery has been waiting, or 0 if no delivery is waiting."""
        return 0.0 if self._oldest_ms is None else max(0.0, self._wall_clock() - self._oldest_ms / 1000)

    def wake(self) -> None:
        """Make `run` look for new deliveries in the store."""
        self._work.set()

    async def call_store(self, operation: Callable[[], Result]) -> Result:
        """Run an operation of the store in a worker thread.

        While the store fails (for example because the disk is full), it is tried again.
        """
        logged = False
        while True:
            try:
                return await trio.to_thread.run_sync(operation, limiter=self._limiter)
            except SinkError as error:
                if not logged:
                    self._log.error(
                        "deliveries cannot be stored; trying again", webhook=self._receiver.name, what=error.what
                    )
                logged = True
                await trio.sleep(_STORE_PAUSE_SECONDS)

    async def run(self) -> None:
        """Post deliveries until cancelled, or until the receiver is gone."""
        tls = await trio.to_thread.run_sync(ssl.create_default_context) if self._target.secure else None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._expire)
            await self._deliver(tls)
            nursery.cancel_scope.cancel()

    async def _deliver(self, tls: ssl.SSLContext | None) -> None:
        while not self.gone.is_set():
            self._work = trio.Event()
            heads = await self.call_store(lambda: self._store.oldest_per_station(self._receiver.id))
            self.waiting = await self.call_store(lambda: self._store.count(self._receiver.id))
            self._oldest_ms = min((head.stored_at_ms for head in heads), default=None)
            self._schedule.forget_all_but(heads)
            head = self._schedule.next_due(heads)
            if head is not None:
                await self._attempt(head, tls)
                continue
            with trio.move_on_at(min((self._schedule.due_at(head.station) for head in heads), default=float("inf"))):
                await self._work.wait()

    async def _attempt(self, head: StoredDelivery, tls: ssl.SSLContext | None) -> None:
        self._schedule.tried_at[head.station] = trio.current_time()
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
            response = await self._post(self._target, headers, head.body, tls, self._receiver.timeout_seconds)
        except SinkError as error:
            self._receiver_failed(head, error.what, 0.0)
            return
        if 200 <= response.status < 300:
            await self._delivered(head)
        elif response.status == _GONE_STATUS:
            self._receiver_gone(head)
        elif 400 <= response.status < 500 and response.status not in _TEMPORARY_STATUSES:
            await self._refused(head, response.status)
        else:
            pause_seconds = self._retry_after_seconds(response.retry_after)
            self._receiver_failed(head, f"status {response.status}", pause_seconds)

    async def _delivered(self, head: StoredDelivery) -> None:
        if self._schedule.failures:
            self._log.info("webhook accepts deliveries again", webhook=self._receiver.name, waiting=self.waiting)
        self._schedule.accept()
        await self.call_store(lambda: self._store.remove(head.id))
        self._on_outcome("delivered", 1)
        self._log.debug("delivered", webhook=self._receiver.name, station=head.station, key=head.key)

    def _receiver_failed(self, head: StoredDelivery, what: str, min_pause_seconds: float) -> None:
        """Pause the whole webhook, because the failure may be the receiver's fault."""
        schedule = self._schedule
        log = self._log.debug if schedule.failures else self._log.warning
        schedule.failures += 1
        self._on_outcome("retried", 1)
        pause_seconds = max(self._backoff_seconds(schedule.failures), min_pause_seconds)
        schedule.paused_until = trio.current_time() + pause_seconds
        log(
            "webhook does not accept deliveries; trying again",
            webhook=self._receiver.name,
            what=what,
            waiting=self.waiting,
            station=head.station,
        )

    async def _refused(self, head: StoredDelivery, status: int) -> None:
        """Pause the station or give the delivery up, because the failure is the fault of the delivery."""
        self._schedule.accept()
        refusals = self._schedule.refuse(head.id)
        if refusals < MAX_REFUSALS:
            self._on_outcome("retried", 1)
            self._schedule.station_paused_until[head.station] = trio.current_time() + self._backoff_seconds(refusals)
            return
        self._log.error(
            "delivery refused; given up", webhook=self._receiver.name, station=head.station, key=head.key, status=status
        )
        self._schedule.station_paused_until.pop(head.station, None)
        await self.call_store(lambda: self._store.remove(head.id))
        self._on_outcome("rejected", 1)

    def _receiver_gone(self, head: StoredDelivery) -> None:
        self.gone.set()
        self._log.error(
            "webhook is gone (status 410); restart the daemon to try it again",
            webhook=self._receiver.name,
            waiting=self.waiting,
            station=head.station,
        )

    async def _expire(self) -> None:
        while True:
            before_ms = int(self._wall_clock() * 1000) - round(1000 * self._receiver.keep_seconds)
            count = await self.call_store(
                partial(self._store.expire, self._receiver.id, before_ms=before_ms, max_count=MAX_WAITING)
            )
            if count:
                self._log.error(
                    "deliveries given up: not accepted in time, or too many", webhook=self._receiver.name, count=count
                )
                self._on_outcome("given_up", count)
                self._work.set()
            await trio.sleep(_EXPIRY_SECONDS)

    def _backoff_seconds(self, failures: int) -> float:
        """Return how many seconds to wait after this number of failures in a row.

        The maximum doubles with each failure, up to a minute. Half of the wait is random. Otherwise, all senders would
        meet a receiver at the very moment when it becomes available again.
        """
        return backoff_seconds(failures, FIRST_PAUSE_SECONDS) * self._rng.uniform(0.5, 1.0)

    def _retry_after_seconds(self, text: str) -> float:
        """Return the wait that a `Retry-After` header asks for, in seconds.

        The header contains either seconds or a date. Returns 0 if it is empty or invalid.
        """
        seconds = 0.0
        if text.isascii() and text.isdigit():
            seconds = float(text[:9])
        elif text:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - self._wall_clock()
            except (ValueError, OverflowError):  # the numbers in a date may be arbitrarily large
                return 0.0
        return min(max(seconds, 0.0), _MAX_RETRY_AFTER_SECONDS)
