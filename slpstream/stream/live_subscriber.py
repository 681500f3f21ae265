"""The sending side of a subscriber: the outbox of its connection, and its place in the fan-out of each station."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import trio

from slpstream.model.errors import SubscriberError, SubscriptionFailed
from slpstream.model.messages import DROPPABLE_TYPES, LogMessage, Position
from slpstream.stream.delta_bases import Chunk, DeltaBases, Entry
from slpstream.stream.game import Game
from slpstream.stream.games import StationReader
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscription import Delivery, Subscription
from slpstream.stream.view import Encoding, View


class Recipient:
    """One connection that receives messages.

    It encodes status messages, and makes sure that all messages are delivered in the way that the subscription asks
    for.
    """

    def __init__(
        self, subscription: Subscription, encoding: Encoding, outbox: Outbox, wake_writer: Callable[[], None]
    ) -> None:
        """`wake_writer` is called whenever there is unsent data in the outbox."""
        self.subscription = subscription
        self.view = View(subscription, encoding)
        self.outbox = outbox
        self.delivery: Delivery = subscription.delivery
        self.wake_writer = wake_writer
        self._drained = trio.Event()
        self._late: dict[tuple[str, str], bytes] = {}  # status messages without room, by type and station
        self._failed = trio.Event()
        self._failure: SubscriberError | None = None  # the reason, unless the connection is too slow
        self._left = False

    def stop(self) -> None:
        """Stop sending messages."""
        self._left = True

    def fail(self, error_id: str) -> None:
        """End the subscription because of a bug. `error_id` is the id under which the bug was logged."""
        self.stop()
        self._failure = SubscriptionFailed(error_id)
        self._failed.set()

    def send_status(self, payload: dict[str, Any]) -> None:
        """Send a status message. Status messages are never dropped.

        If a lossless subscriber has no room, we wait until it does. In the meantime, we only keep the newest message of
        each type and station.
        """
        if self._left:
            return
        data = self.view.status(payload)
        if self.delivery == "conflate":
            self._put(data, None)
        elif self._late or not self.outbox.put(data):
            # `on_air` messages replace each other whatever their station. The newest message of a key is sent last.
            key = (payload["type"], "" if payload["type"] == "on_air" else payload["station"])
            self._late.pop(key, None)
            self._late[key] = data
        self._wake_if_waiting()

    def put(self, data: bytes, message: LogMessage, station: str) -> bool:
        """Queue a log message for a live subscriber. Returns False if the subscriber is lossless and has no room for
        it.

        If a status message is already waiting for room, then log messages have to wait too, because it might be the
        snapshot that comes before them.
        """
        if self.delivery == "lossless":
            if not self._late and self.outbox.put(data):
                self._wake_if_waiting()
                return True
            return False
        droppable = message.type in DROPPABLE_TYPES
        self._put(data, (station, message.game_id, message.type) if droppable else None)
        return True

    async def put_slowly(self, data: bytes) -> None:
        """Wait until the outbox is empty, and then queue a message that was read back from the log."""
        while not self.outbox.empty or self._left:
            if self._drained.is_set():
                self._drained = trio.Event()
            self._wake_if_waiting()
            await self._drained.wait()
        self.outbox.put(data)
        self._wake_if_waiting()

    async def send_unlogged(self, kind: str, station: str, payload: Mapping[str, Any]) -> None:
        """Send a message that isn't in a log. A slow conflating subscriber only gets the newest of its type."""
        data = self.view.status({"type": kind, "station": station, **payload})
        if self.delivery == "lossless":
            await self.put_slowly(data)
        else:
            self._put(data, (station, kind))
            await trio.lowlevel.checkpoint()

    def flushed(self) -> None:
        """Note that the connection has written everything that was in the outbox."""
        late, self._late = self._late, {}
        for data in late.values():
            self.outbox.put(data)
        self._drained.set()

    def _put(self, data: bytes, key: Hashable) -> None:
        # After a message that did not fit, nothing more is sent: a cursor promises that all earlier messages were sent.
        if not self._left and not self.outbox.put(data, key):
            self.stop()
            self._failed.set()
        self._wake_if_waiting()

    def _wake_if_waiting(self) -> None:
        if not self.outbox.empty:
            self.wake_writer()


class LiveSubscriber:
    """A subscriber of one station. While it is live, the channel sends it messages as soon as they are published."""

    def __init__(self, recipient: Recipient, station: str, reader: StationReader) -> None:
        self.recipient = recipient
        self.view = recipient.view
        self.outbox = recipient.outbox
        self.delivery: Delivery = recipient.delivery
        self._station = station
        self._reader = reader
        self._told_state: dict[str, Any] = {}
        self._told_set: dict[str, Any] | None = None
        self._behind = trio.Event()
        self.bases: DeltaBases = {}
        """The bases of deltas that this subscriber has. If they are those of its group, it is the same dictionary."""

    def tell_state(self, message: dict[str, Any]) -> None:
        """Send the state of the station, unless it is still the one that we sent last."""
        if message != self._told_state:
            self._told_state = message
            self.recipient.send_status(message)

    def tell_set(self, message: dict[str, Any] | None) -> None:
        """Send the set of the station, unless it is still the one that we sent last.

        If there's no set, this does nothing.
        """
        if message is not None and message != self._told_set:
            self._told_set = message
            self.recipient.send_status(message)

    def fall_behind(self, game: Game, position: Position | None = None) -> None:
        """Stop being live. Read `game` from `position` on, and all other live games from their heads on.

        If `position` is `None`, the reader continues where it was in `game`. The channel must have detached the
        subscriber before it calls this.
        """
        if self._reader.live:
            self._reader.fall_behind(game, position)
            self._behind.set()

    def keep_rest(self, data: bytes, taken: int) -> None:
        """Note that the socket took only the first `taken` bytes of some data. The rest is sent as soon as possible."""
        self.outbox.keep_rest(data, taken)
        self.recipient.wake_writer()

    def take(self, chunks: Iterable[Chunk]) -> LogMessage | None:
        """Send some chunks of messages, or queue them if there is unsent data.

        If the subscriber is lossless and runs out of room, this stops and returns the message that didn't fit.
        """
        outbox = self.outbox
        for chunk in chunks:
            if outbox.queued_bytes == 0:
                if not outbox.send(self._readable(chunk)):
                    self.recipient.wake_writer()
                continue
            for entry in chunk.entries:
                if not self._put(entry):
                    return entry.message
        return None

    def _readable(self, chunk: Chunk) -> bytes:
        """Return the bytes of a chunk in a form that this subscriber can read, and note that they were delivered.

        If the subscriber lacks the base of a delta, then it gets the whole message instead.
        """
        data = chunk.joined
        if not chunk.bases:
            return data
        if not chunk.fits(self.bases):
            known = dict(self.bases)
            parts = []
            for entry in chunk.entries:
                parts.append(self._bytes(entry, known))
                if entry.base is not None:
                    known[entry.message.type] = entry.base
            data = b"".join(parts)
        self.bases.update(chunk.bases)
        return data

    def _put(self, entry: Entry) -> bool:
        """Queue one entry at the end of the outbox.

        Returns False if the subscriber is lossless and has no room for it.
        """
        if self.delivery == "conflate" and entry.base is not None:
            # The message can be dropped later, so no delta can be based on it.
            self.bases.pop(entry.message.type, None)
            return self.recipient.put(self._bytes(entry, {}), entry.message, self._station)
        taken = self.recipient.put(self._bytes(entry, self.bases), entry.message, self._station)
        if taken and entry.base is not None:
            self.bases[entry.message.type] = entry.base
        return taken

    def put_loose(self, message: LogMessage) -> None:
        """Queue a diagnostic that doesn't belong to any game, if the subscription wants it."""
        for entry in self.view.entries([message], self._station, 60, {}):
            self.recipient.put(entry.data, message, self._station)

    def _bytes(self, entry: Entry, known: DeltaBases) -> bytes:
        return entry.data if entry.fits(known) else self.view.whole(entry.message, self._station)
