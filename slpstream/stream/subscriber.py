"""One subscriber: receives messages as they are published while it keeps up, and reads the logs at its own pace if not.

For each station, a subscriber is in one of two states. *Live*: it belongs to a group of its channel, which writes new
messages straight to its socket. *Catching up*: its `run` task works through the logs with a `StationReader`. Once every
head is reached, the subscriber becomes live without a checkpoint in between. Every subscriber starts by catching up.

A conflating subscriber stays live however slow it is, because its outbox drops droppable messages. A lossless one whose
outbox is full has to catch up from the last message that was queued.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import trio

from slpstream.model.errors import NoSuchGame, SubscriberError, SubscriptionFailed, TooSlow, first_refusal
from slpstream.model.messages import DROPPABLE_TYPES, Cursor, LogMessage, Position
from slpstream.stream.channel import Channel, WantedChannels
from slpstream.stream.delta_bases import Chunk, DeltaBases, Entry
from slpstream.stream.game import Game
from slpstream.stream.games import StationReader
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscription import Delivery, Start, Subscription
from slpstream.stream.view import Encoding, View
from slpstream.system.internal_errors import InternalErrors

_MESSAGES_PER_CHECKPOINT = 8  # hundreds of subscribers that catch up must not delay the live ones


class Subscriber:
    """One connection's subscription to any number of stations.

    `run` follows the stations until it is cancelled or raises.
    """

    def __init__(
        self, subscription: Subscription, encoding: Encoding, outbox: Outbox, wake_writer: Callable[[], None]
    ) -> None:
        """`wake_writer` is called whenever the outbox holds unsent data."""
        self.subscription = subscription
        self.view = View(subscription, encoding)
        self.outbox = outbox
        self.delivery: Delivery = subscription.delivery
        self._wake_writer = wake_writer
        self._stations: list[StationDelivery] = []
        self._possible_owners = 0  # stations that may still own the cursor
        self._drained = trio.Event()
        self._late: dict[tuple[str, str], bytes] = {}  # status messages without room, by type and station
        self._told_on_air: dict[str, Any] | None = None
        self._failed = trio.Event()
        self._failure: SubscriberError | None = None  # the reason, unless the connection is too slow
        self._left = False

    async def run(self, channels: WantedChannels) -> None:
        """Follow the channels, which can change, until cancelled.

        Raises `NoSuchGame`, `CursorGone`, `TooSlow` and `SubscriptionFailed`, in exception groups.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow, channels, nursery)
                await self._failed.wait()
                raise self._failure or TooSlow("the connection is too slow for messages that must not be dropped")
        finally:
            self._stations = []  # they refer back to this object, and only the garbage collector frees cycles

    async def run_until_refused(self, channels: WantedChannels, errors: InternalErrors) -> SubscriberError | None:
        """Call `run` and return the error that ended the subscription.

        A bug ends it with `SubscriptionFailed`; with `strict` errors, it is raised.
        """
        refused: SubscriberError | None = None
        with errors.contain("stream") as contained:
            try:
                await self.run(channels)
            except* SubscriberError as group:
                refused = first_refusal(group)
        return refused if contained.error_id is None else SubscriptionFailed(contained.error_id)

    async def _follow(self, channels: WantedChannels, nursery: trio.Nursery) -> None:
        """Run a `StationDelivery` for each channel while channels are added and removed."""
        left_at: dict[str, Cursor | None] = {}
        self._tell_on_air(channels)
        self._stations = [StationDelivery(self, channel) for channel in channels]
        self._possible_owners = len(self._stations) + channels.follow_on_air  # the next one on air may own it
        for station in self._stations:
            nursery.start_soon(station.run)
        while not self._left:
            wanted = list(channels)
            for station in [station for station in self._stations if station.channel not in wanted]:
                self._stations.remove(station)
                left_at[station.channel.station] = station.cursor() or left_at.get(station.channel.station)
                station.tell_state()
                station.end()
            if channels.over:
                raise NoSuchGame("the station has been removed")
            self._tell_on_air(channels)
            known = [station.channel for station in self._stations]
            for channel in [channel for channel in wanted if channel not in known]:
                # A station that returns on air begins live: its messages in between were not wanted. One that the
                # subscription names continues at its last position.
                late = LateDelivery(
                    self, channel, left_at.get(channel.station), begins_live=not channels.names(channel.station)
                )
                self._stations.append(late)
                nursery.start_soon(late.run)
            await channels.changed()

    def _tell_on_air(self, channels: WantedChannels) -> None:
        """Send which station is on air, if the subscription wants it and it has changed."""
        message = channels.on_air_message()
        if message is not None and message != self._told_on_air:
            self._told_on_air = message
            self.send_status(message)

    def stop(self) -> None:
        """Leave all channels; nothing more is sent."""
        self._left = True
        for station in self._stations:
            station.leave()

    def fail(self, error_id: str) -> None:
        """End the subscription, because of a bug that was logged under this id."""
        self.stop()
        self._failure = SubscriptionFailed(error_id)
        self._failed.set()

    def disown(self, error: NoSuchGame) -> None:
        """Take note that one station does not own the cursor. Raises `error` if no other station can own it."""
        self._possible_owners -= 1
        if not self._possible_owners:
            raise error

    def send_status(self, payload: dict[str, Any]) -> None:
        """Send a status message, which is never dropped.

        For a lossless subscriber without room, the newest one of each type and station waits until there is room.
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
        """Queue a log message for a live subscriber; false when a lossless one has no room for it.

        A status message that waits for room holds up log messages, because it can be the snapshot before them.
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
        """Queue a message that was read back from the log, once the outbox is empty."""
        while not self.outbox.empty or self._left:
            if self._drained.is_set():
                self._drained = trio.Event()
            self._wake_if_waiting()
            await self._drained.wait()
        self.outbox.put(data)
        self._wake_if_waiting()

    def flushed(self) -> None:
        """Take note that the connection has written the whole outbox."""
        late, self._late = self._late, {}
        for data in late.values():
            self.outbox.put(data)
        self._drained.set()

    def wake(self) -> None:
        """Have the connection write the outbox when the socket allows."""
        self._wake_writer()

    def _put(self, data: bytes, key: Hashable) -> None:
        # After a message that did not fit, nothing more is sent: a cursor promises that all earlier messages were sent.
        if not self._left and not self.outbox.put(data, key):
            self.stop()
            self._failed.set()
        self._wake_if_waiting()

    def _wake_if_waiting(self) -> None:
        if not self.outbox.empty:
            self._wake_writer()


class StationDelivery:
    """A subscriber's share of one station: its position in the logs, and its place in the fan-out."""

    def __init__(self, subscriber: Subscriber, channel: Channel) -> None:
        self.channel = channel
        self.view = subscriber.view
        self.outbox = subscriber.outbox
        self.delivery: Delivery = subscriber.delivery
        self.wake = subscriber.wake
        """Has the connection write the outbox when the socket allows."""
        self.send_status = subscriber.send_status
        self.fail = subscriber.fail
        self._subscriber = subscriber
        self._station = channel.station
        self._scope = trio.CancelScope()
        self._reader = StationReader(channel, subscriber.view.mode, reads_secondary=subscriber.delivery == "lossless")
        self._told_state: dict[str, Any] = {}
        self._told_set: dict[str, Any] | None = None
        self._behind = trio.Event()
        self._bases: DeltaBases = {}

    async def run(self) -> None:
        """Find the beginning, then catch up whenever the subscriber is not live."""
        with self._scope:
            try:
                await self._begin()
                while True:
                    await self._catch_up()
                    await self._behind.wait()
            finally:
                self.leave()

    def end(self) -> None:
        """Make `run` return, because the station has been removed."""
        self.leave()
        self._scope.cancel()

    def leave(self) -> None:
        """Leave the channel's groups."""
        if self._reader.live:
            self.channel.detach(self)
            self._reader.live = False

    def tell_state(self) -> None:
        """Send the station's state, if it has changed since it was last sent."""
        state = self.channel.state_message()
        if state != self._told_state:
            self._told_state = state
            self.send_status(state)

    def tell_set(self) -> None:
        """Send the station's set, if it has changed since it was last sent."""
        message = self.channel.set_message()
        if message is not None and message != self._told_set:
            self._told_set = message
            self.send_status(message)

    def fall_behind(self, game: Game, position: Position | None = None) -> None:
        """Stop being live, and read `game` from `position` on and all other live games from their heads on.

        `None` keeps the reader's last position in `game`.
        """
        if not self._reader.live:
            return
        self.channel.detach(self)
        self._reader.fall_behind(game, position)
        self._behind.set()

    def cursor(self) -> Cursor | None:
        """Return the subscriber's cursor in the newest game of which it has received a message."""
        return self._reader.cursor()

    def readable(self, chunk: Chunk) -> bytes:
        """Return the chunk's bytes, with whole messages where this subscriber lacks a base. They count as delivered."""
        data = chunk.joined
        if not chunk.bases:
            return data
        if not chunk.fits(self._bases):
            known = dict(self._bases)
            parts = []
            for entry in chunk.entries:
                parts.append(self._bytes(entry, known))
                if entry.base is not None:
                    known[entry.message.type] = entry.base
            data = b"".join(parts)
        self._bases.update(chunk.bases)
        return data

    def put(self, entry: Entry) -> bool:
        """Queue one entry at the end of the outbox; false when a lossless subscriber has no room for it."""
        if self.delivery == "conflate" and entry.base is not None:
            # The message can be dropped later, so no delta can be based on it.
            self._bases.pop(entry.message.type, None)
            return self._subscriber.put(self._bytes(entry, {}), entry.message, self._station)
        taken = self._subscriber.put(self._bytes(entry, self._bases), entry.message, self._station)
        if taken and entry.base is not None:
            self._bases[entry.message.type] = entry.base
        return taken

    def put_loose(self, message: LogMessage) -> None:
        """Queue a diagnostic that belongs to no game, if the subscription wants it."""
        if self.view.wants(message, 60):
            self._subscriber.put(self.view.whole(message, self._station), message, self._station)

    def _bytes(self, entry: Entry, known: DeltaBases) -> bytes:
        return entry.data if entry.fits(known) else self.view.whole(entry.message, self._station)

    async def _begin(self) -> None:
        self.tell_state()
        self.tell_set()
        await self._reader.settle()
        await self._find_beginning()

    async def _find_beginning(self) -> None:
        subscription = self._subscriber.subscription
        cursor = subscription.cursor_of(self._station)
        if isinstance(cursor, Cursor):
            try:
                await self._begin_after(cursor)
            except NoSuchGame as error:
                if self._station in subscription.cursors:
                    raise
                self._subscriber.disown(error)
                cursor = "live"
            else:
                return
        await self._begin_at(cursor)

    async def _begin_after(self, cursor: Cursor) -> None:
        """Raises `NoSuchGame` and `CursorGone`."""
        game = await self.channel.locate(cursor.game_id)
        self._reader.resume_in(game)
        position = await self._reader.position_of(game, cursor)
        await self._reader.check_end(game, position)
        self._reader.positions[game] = position

    async def _begin_at(self, start: Start) -> None:
        channel = self.channel
        if start == "start":
            self._reader.from_start()
            return
        while any(game.catching_up for game in channel.games):
            await channel.changed()
        self._reader.from_heads()
        if channel.current is not None and channel.current.in_progress:
            self.send_status(channel.snapshot(channel.current, self.view.mode))

    async def _catch_up(self) -> None:
        """Read every game until all heads are reached, then become live."""
        self._behind = trio.Event()
        reader = self._reader
        while True:
            self.tell_state()
            self.tell_set()
            unread = await reader.next()
            if unread is not None:
                await self._deliver(unread.game, unread.messages)
            elif any(reader.waits_for(game) for game in reader.games()):
                await self.channel.changed()
            else:
                break
        reader.go_live()
        self.channel.attach(self)

    async def _deliver(self, game: Game, messages: Sequence[LogMessage]) -> None:
        for count, message in enumerate(self._conflated(messages)):
            if count % _MESSAGES_PER_CHECKPOINT == 0:
                await trio.lowlevel.checkpoint()
            entry = self.view.entry(message, self._station, game.frames_per_second, self._bases)
            if entry is not None:
                await self._subscriber.put_slowly(entry.data)
                self._reader.advance_to(game, message)  # now, because the station can end before the next message
        if messages:
            self._reader.advance_to(game, messages[-1])

    def _conflated(self, messages: Sequence[LogMessage]) -> Iterable[LogMessage]:
        """Return the messages; for a conflating subscriber only the newest of each droppable type."""
        if self.delivery == "lossless":
            return messages
        newest = {message.type: message for message in messages if message.type in DROPPABLE_TYPES}
        return [m for m in messages if m.type not in DROPPABLE_TYPES or newest[m.type] is m]


class LateDelivery(StationDelivery):
    """The share of a station that appeared, or came back, after the subscription began."""

    def __init__(
        self, subscriber: Subscriber, channel: Channel, left_at: Cursor | None, *, begins_live: bool = False
    ) -> None:
        """`left_at` is the subscriber's position when the station was removed.

        With `begins_live`, a lossless subscriber receives no earlier messages either.
        """
        super().__init__(subscriber, channel)
        self._left_at = left_at
        self._begins_live = begins_live

    async def _find_beginning(self) -> None:
        subscription = self._subscriber.subscription
        asked = subscription.cursor_of(self._station)
        if subscription.delivery == "conflate" or self._begins_live:
            await self._begin_at("start" if asked == "start" else "live")
            return
        cursor = self._left_at or subscription.cursors.get(self._station)
        if isinstance(cursor, Cursor):
            try:
                await self._begin_after(cursor)
            except NoSuchGame:
                pass
            else:
                return
        self._reader.from_first_played()
