"""One subscriber, which gets messages when they are published or, if it can't keep up, reads the logs at its own pace.

In each station, a subscriber is either *live* or *catching up*. If it is live, it belongs to a group of the channel,
which writes new messages straight to its socket. If it is catching up, it works through the logs with a
`StationReader`. As soon as it has reached every head, it becomes live. There is no checkpoint in between, so it can't
miss a message. Every subscriber starts by catching up.

A conflating subscriber stays live no matter how slow it is, because its outbox is allowed to drop messages. A lossless
subscriber doesn't have this option. When its outbox is full, it goes back to catching up, beginning after the last
message that was queued.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import trio

from slpstream.model.errors import NoSuchGame, SubscriberError, SubscriptionFailed, TooSlow, first_refusal
from slpstream.model.messages import DROPPABLE_TYPES, Cursor, LogMessage, Position
from slpstream.stream.channel import Channel, Hub, MessageSource
from slpstream.stream.game import FIRST_PLAYED, Game
from slpstream.stream.outbox import Outbox
from slpstream.stream.station_reader import StationReader
from slpstream.stream.subscription import Start, Subscription
from slpstream.stream.view import Chunk, DeltaBases, Encoding, Entry, View
from slpstream.system.changing import Changing
from slpstream.system.internal_errors import InternalErrors

_MESSAGES_PER_CHECKPOINT = 8  # hundreds of subscribers that catch up must not delay the live ones


class Subscriber:
    """The subscription of one connection, which can be for any number of stations."""

    def __init__(self, subscription: Subscription, encoding: Encoding, outbox: Outbox) -> None:
        self.subscription = subscription
        self.view = View(subscription, encoding)
        self._encode_status = encoding.status
        self.outbox = outbox
        self.sources: dict[str, MessageSource] = {}
        self._stations: list[StationDelivery] = []
        self._possible_owners = 0  # stations that may still own the cursor
        self._told_on_air: dict[str, Any] | None = None
        self._drained = Changing()
        self._late: dict[tuple[str, str], bytes] = {}  # status messages without room, by type and station
        self._failed = trio.Event()
        self._failure: SubscriberError | None = None  # the reason, unless the connection is too slow
        self._left = False

    async def run(self, hub: Hub, errors: InternalErrors) -> SubscriberError | None:
        """Follow the wanted channels, which can appear and disappear. Returns the error that ends the subscription.

        The error can be a `NoSuchGame`, `CursorGone` or `TooSlow`. If the reason is a bug, you get a
        `SubscriptionFailed`. With `strict` errors, the bug is raised instead.
        """
        refused: SubscriberError | None = None
        with errors.contain("stream") as contained:
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._follow, hub, nursery)
                    await self._failed.wait()
                    raise self._failure or TooSlow("the connection is too slow for messages that must not be dropped")
            except* SubscriberError as group:
                refused = first_refusal(group)
            finally:
                self._stations = []  # they refer back to this object, and only the garbage collector frees cycles
        return refused if contained.error_id is None else SubscriptionFailed(contained.error_id)

    async def _follow(self, hub: Hub, nursery: trio.Nursery) -> None:
        """Run a `StationDelivery` for each channel, and keep track of channels that are added and removed."""
        subscription = self.subscription
        left_at: dict[str, Cursor | None] = {}
        self.sources = {kind: hub.sources[kind] for kind in subscription.also if kind in hub.sources}
        wanted = hub.wanted(subscription.stations)
        self._possible_owners = len(wanted) + subscription.follows_on_air  # the next one on air may own it
        is_late = False
        while not self._left:
            wanted = hub.wanted(subscription.stations)
            for station in [station for station in self._stations if station.channel not in wanted]:
                self._stations.remove(station)
                left_at[station.channel.station] = station.reader.cursor() or left_at.get(station.channel.station)
                station.tell(station.channel.state_message())
                station.end()
            if not (wanted or subscription.stations is None or subscription.follows_on_air):
                raise NoSuchGame("the station has been removed")
            self._tell_on_air(hub)
            known = [station.channel for station in self._stations]
            for channel in [channel for channel in wanted if channel not in known]:
                start: Start | Cursor | None = subscription.cursor_of(channel.station)
                if is_late:
                    start = self._late_start(channel.station, left_at.get(channel.station))
                self._stations.append(StationDelivery(self, channel))
                nursery.start_soon(self._stations[-1].run, start, is_late)
            is_late = True
            await hub.changed()

    def _late_start(self, station: str, left_at: Cursor | None) -> Start | Cursor | None:
        """Return where to begin in a station that appeared, or came back, after the subscription had begun.

        `left_at` is the position that the subscriber had when the station was removed. `None` stands for the first game
        that was played.
        """
        subscription = self.subscription
        # A station that returns on air begins live: its messages in between were not wanted.
        is_named = subscription.stations is None or station in subscription.stations
        if self.view.delivery == "conflate" or not is_named:
            return "start" if subscription.cursor_of(station) == "start" else "live"
        cursor = left_at or subscription.cursors.get(station)
        return cursor if isinstance(cursor, Cursor) else None

    def _tell_on_air(self, hub: Hub) -> None:
        """Send the station on air if it is another one than before.

        Subscriptions of all stations get the message as soon as there has been a station on air.
        """
        follows = self.subscription.follows_on_air
        if hub.on_air is None or not (follows or (self.subscription.stations is None and hub.on_air.since is not None)):
            return
        message = hub.on_air.message()
        if message != self._told_on_air:
            self._told_on_air = message
            self.send_status(message)

    def stop(self) -> None:
        """Leave all channels. Nothing is sent after this."""
        self._left = True
        for station in self._stations:
            station.leave()

    def fail(self, error_id: str) -> None:
        """End the subscription because of a bug. `error_id` is the id under which the bug was logged."""
        self.stop()
        self._failure = SubscriptionFailed(error_id)
        self._failed.set()

    def disown(self, error: NoSuchGame) -> None:
        """Note that a station doesn't own the cursor. If this was the last one that could, raise `error`."""
        self._possible_owners -= 1
        if not self._possible_owners:
            raise error

    def send_status(self, payload: dict[str, Any]) -> None:
        """Send a status message. Status messages are never dropped.

        If a lossless subscriber has no room, we wait until it does. In the meantime, we only keep the newest message of
        each type and station.
        """
        if self._left:
            return
        data = self._encode_status(payload)
        if self.view.delivery == "conflate":
            self._put(data, None)
        elif self._late or not self.outbox.put(data):
            # `on_air` messages replace each other whatever their station. The newest message of a key is sent last.
            key = (payload["type"], "" if payload["type"] == "on_air" else payload["station"])
            self._late.pop(key, None)
            self._late[key] = data

    def put(self, data: bytes, message: LogMessage, station: str) -> bool:
        """Queue a log message for a live subscriber. Returns False if the subscriber is lossless and has no room for
        it.

        If a status message is already waiting for room, then log messages have to wait too, because it might be the
        snapshot that comes before them.
        """
        if self.view.delivery == "lossless":
            return not self._late and self.outbox.put(data)
        droppable = message.type in DROPPABLE_TYPES
        self._put(data, (station, message.game_id, message.type) if droppable else None)
        return True

    async def put_slowly(self, data: bytes) -> None:
        """Wait until the outbox is empty, and then queue a message that was read back from the log."""
        while not self.outbox.empty or self._left:
            await self._drained.changed()
        self.outbox.put(data)

    async def send_unlogged(self, kind: str, station: str, payload: Mapping[str, Any]) -> None:
        """Send a message that isn't in a log. A slow conflating subscriber only gets the newest of its type."""
        data = self._encode_status({"type": kind, "station": station, **payload})
        if self.view.delivery == "lossless":
            await self.put_slowly(data)
        else:
            self._put(data, (station, kind))
            await trio.lowlevel.checkpoint()

    def flushed(self) -> None:
        """Note that the connection has written everything that was in the outbox."""
        late, self._late = self._late, {}
        for data in late.values():
            self.outbox.put(data)
        self._drained.notify()

    def _put(self, data: bytes, key: Hashable) -> None:
        # After a message that did not fit, nothing more is sent: a cursor promises that all earlier messages were sent.
        if not self._left and not self.outbox.put(data, key):
            self.stop()
            self._failed.set()


class StationDelivery:
    """The part of a subscription that concerns one station.

    It finds out where to begin, and catches up whenever the subscriber isn't live. While it is live, the channel sends
    it messages as soon as they are published.
    """

    def __init__(self, subscriber: Subscriber, channel: Channel) -> None:
        self.subscriber = subscriber
        self.channel = channel
        self.view = subscriber.view
        self.outbox = subscriber.outbox
        self.bases: DeltaBases = {}
        """The bases of deltas that this subscriber has. If they are those of its group, it is the same dictionary."""
        self.reader = StationReader(channel, self.view.mode, reads_secondary=self.view.delivery == "lossless")
        self._told: dict[str, dict[str, Any]] = {}  # the last status messages, by their type
        self._behind = Changing()
        self._scope = trio.CancelScope()

    async def run(self, start: Start | Cursor | None, is_late: bool) -> None:
        """Begin at `start`, where `None` stands for the first game that was played, and then catch up whenever the
        subscriber isn't live. A station `is_late` if it appeared after the subscription had begun.
        """
        with self._scope:
            try:
                self._tell_status()
                await self.reader.settle()
                await self._begin(start, is_late=is_late)
                asked = self.subscriber.subscription.cursor_of(self.channel.station)
                begun: Start | Cursor = self.reader.cursor() or ("start" if asked == "start" else "live")
                async with trio.open_nursery() as nursery:
                    for kind, source in self.subscriber.sources.items():
                        send = partial(self.subscriber.send_unlogged, kind, self.channel.station)
                        nursery.start_soon(source, self.channel, begun, send)
                    while True:
                        await self._catch_up()
                        await self._behind.changed()
            finally:
                self.leave()

    def end(self) -> None:
        """Make `run` return, because the station was removed."""
        self.leave()
        self._scope.cancel()

    def leave(self) -> None:
        """Leave the groups of the channel."""
        if self.reader.live:
            self.channel.detach(self)
            self.reader.live = False

    def tell(self, message: dict[str, Any] | None) -> None:
        """Send a status message of the station, unless it is the one of its type that we sent last."""
        if message is not None and message != self._told.get(message["type"]):
            self._told[message["type"]] = message
            self.subscriber.send_status(message)

    def _tell_status(self) -> None:
        self.tell(self.channel.state_message())
        self.tell(self.channel.set_message())

    async def _begin(self, start: Start | Cursor | None, *, is_late: bool) -> None:
        """Raises `NoSuchGame` or `CursorGone` if it isn't possible to begin there."""
        channel, reader = self.channel, self.reader
        if isinstance(start, Cursor):
            try:
                await reader.resume_after(await channel.locate(start.game_id), start)
            except NoSuchGame as error:
                if is_late:
                    start = None
                elif channel.station in self.subscriber.subscription.cursors:
                    raise
                else:
                    self.subscriber.disown(error)
                    start = "live"
        if start == "start":
            reader.first = channel.current or channel.next_order()
        elif start is None:
            reader.first = FIRST_PLAYED
        elif start == "live":
            while any(game.catching_up for game in channel.games):
                await channel.changed()
            reader.from_heads()
            if channel.current is not None and channel.current.in_progress:
                self.subscriber.send_status(channel.snapshot(channel.current, self.view.mode))

    async def _catch_up(self) -> None:
        """Read every game until all heads are reached, and then become live."""
        reader = self.reader
        while True:
            self._tell_status()
            unread = await reader.next()
            if unread is not None:
                await self._deliver(*unread)
            elif any(reader.waits_for(game) for game in reader.games()):
                await self.channel.changed()
            else:
                break
        reader.go_live()
        self.channel.attach(self)
        self._tell_status()  # it can have changed while `reader.next` read a game that had no more messages

    async def _deliver(self, game: Game, messages: Sequence[LogMessage]) -> None:
        for count, message in enumerate(self._conflated(messages)):
            if count % _MESSAGES_PER_CHECKPOINT == 0:
                await trio.lowlevel.checkpoint()
            for entry in self.view.entries([message], self.channel.station, game.frames_per_second, self.bases):
                await self.subscriber.put_slowly(entry.data)
            # Not only after the last message, because the station can end before that.
            self.reader.positions[game] = message.position

    def _conflated(self, messages: Sequence[LogMessage]) -> Iterable[LogMessage]:
        """Return the messages to send. A conflating subscriber only gets the newest of each droppable type."""
        if self.view.delivery == "lossless":
            return messages
        newest = {message.type: message for message in messages if message.type in DROPPABLE_TYPES}
        return [m for m in messages if m.type not in DROPPABLE_TYPES or newest[m.type] is m]

    def set_back(self, game: Game, position: Position | None = None) -> None:
        """Stop being live. Read `game` from `position` on, and all other live games from their heads on.

        If you don't pass a position, the reader continues where it was in `game`.
        """
        if self.reader.live:
            self.channel.detach(self)
            self.reader.fall_behind(game, position)
            self._behind.notify()

    def take(self, chunks: Iterable[Chunk], shared: DeltaBases) -> LogMessage | None:
        """Send some chunks of messages, or queue them if there is unsent data. `shared` are the bases of the group.

        If the subscriber is lossless and runs out of room, this stops and returns the message that didn't fit.
        """
        station = self.channel.station
        for data, entries in chunks:
            if self.outbox.queued_bytes == 0:
                self.outbox.put(data if self.bases is shared else b"".join(map(self._read, entries)))
                continue
            if self.view.delivery == "conflate" and self.view.deltas:
                # What is queued can be dropped, so no delta can be based on it.
                queued = {entry.message.type for entry in entries}
                self.bases = {kind: base for kind, base in self.bases.items() if kind not in queued}
            for entry in entries:
                if self.view.delivery == "conflate":
                    readable = entry.data if entry.before is None else self.view.whole(entry.message, station)
                else:
                    readable = entry.data if self.bases is shared else self._read(entry)
                if not self.subscriber.put(readable, entry.message, station):
                    return entry.message
        return None

    def _read(self, entry: Entry) -> bytes:
        """Return the bytes of an entry for the bases of this subscriber, and note its base."""
        kind = entry.message.type
        fits = entry.before is None or self.bases.get(kind) == entry.before
        if entry.base is not None:
            self.bases[kind] = entry.base
        return entry.data if fits else self.view.whole(entry.message, self.channel.station)

    def put_loose(self, message: LogMessage) -> None:
        """Queue a diagnostic that doesn't belong to any game, if the subscription wants it."""
        for entry in self.view.entries([message], self.channel.station, 60, {}):
            self.subscriber.put(entry.data, message, self.channel.station)
