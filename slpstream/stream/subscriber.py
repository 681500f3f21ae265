"""One subscriber, which gets messages when they are published or, if it can't keep up, reads the logs at its own pace.

In each station, a subscriber is either *live* or *catching up*. If it is live, it belongs to a group of the channel,
which writes new messages straight to its socket. If it is catching up, its `run` task works through the logs with a
`StationReader`. As soon as it has reached every head, it becomes live. There is no checkpoint in between, so it can't
miss a message. Every subscriber starts by catching up.

A conflating subscriber stays live no matter how slow it is, because its outbox is allowed to drop messages. A lossless
subscriber doesn't have this option. When its outbox is full, it goes back to catching up, beginning after the last
message that was queued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import trio

from slpstream.model.errors import NoSuchGame, SubscriberError, SubscriptionFailed, TooSlow, first_refusal
from slpstream.model.messages import DROPPABLE_TYPES, Cursor, LogMessage
from slpstream.stream.channel import Channel, MessageSource, WantedChannels
from slpstream.stream.game import Game
from slpstream.stream.games import StationReader
from slpstream.stream.live_subscriber import LiveSubscriber, Recipient
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscription import Start, Subscription
from slpstream.stream.view import Encoding
from slpstream.system.internal_errors import InternalErrors

_MESSAGES_PER_CHECKPOINT = 8  # hundreds of subscribers that catch up must not delay the live ones


class Subscriber(Recipient):
    """The subscription of one connection, which can be for any number of stations.

    Call `run` to follow the stations. It keeps running until it is cancelled or raises an error.
    """

    def __init__(
        self, subscription: Subscription, encoding: Encoding, outbox: Outbox, wake_writer: Callable[[], None]
    ) -> None:
        super().__init__(subscription, encoding, outbox, wake_writer)
        self.sources: dict[str, MessageSource] = {}
        self._stations: list[StationDelivery] = []
        self._possible_owners = 0  # stations that may still own the cursor
        self._told_on_air: dict[str, Any] | None = None

    async def run(self, channels: WantedChannels) -> None:
        """Follow the channels until cancelled. It is fine if channels appear or disappear in the meantime.

        This can raise `NoSuchGame`, `CursorGone`, `TooSlow` and `SubscriptionFailed`. They are always wrapped in
        exception groups.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow, channels, nursery)
                await self._failed.wait()
                raise self._failure or TooSlow("the connection is too slow for messages that must not be dropped")
        finally:
            self._stations = []  # they refer back to this object, and only the garbage collector frees cycles

    async def run_until_refused(self, channels: WantedChannels, errors: InternalErrors) -> SubscriberError | None:
        """Like `run`, but returns the error that ended the subscription.

        If the reason was a bug, you get a `SubscriptionFailed`. With `strict` errors, the bug is raised instead.
        """
        refused: SubscriberError | None = None
        with errors.contain("stream") as contained:
            try:
                await self.run(channels)
            except* SubscriberError as group:
                refused = first_refusal(group)
        return refused if contained.error_id is None else SubscriptionFailed(contained.error_id)

    async def _follow(self, channels: WantedChannels, nursery: trio.Nursery) -> None:
        """Run a `StationDelivery` for each channel, and keep track of channels that are added and removed."""
        left_at: dict[str, Cursor | None] = {}
        self._tell_on_air(channels)
        self.sources = channels.sources(self.subscription.also)
        self._stations = [StationDelivery(self, channel) for channel in channels]
        self._possible_owners = len(self._stations) + channels.follow_on_air  # the next one on air may own it
        for station in self._stations:
            nursery.start_soon(station.run)
        while not self._left:
            wanted = list(channels)
            for station in [station for station in self._stations if station.channel not in wanted]:
                self._stations.remove(station)
                left_at[station.channel.station] = station.cursor() or left_at.get(station.channel.station)
                station.tell_state(station.channel.state_message())
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
        """Send the station on air, if the subscription wants to know and if it is another one than before."""
        message = channels.on_air_message()
        if message is not None and message != self._told_on_air:
            self._told_on_air = message
            self.send_status(message)

    def stop(self) -> None:
        """Leave all channels. Nothing is sent after this."""
        super().stop()
        for station in self._stations:
            station.leave()

    def disown(self, error: NoSuchGame) -> None:
        """Note that a station doesn't own the cursor. If this was the last one that could, raise `error`."""
        self._possible_owners -= 1
        if not self._possible_owners:
            raise error


class StationDelivery(LiveSubscriber):
    """The part of a subscription that concerns one station.

    It finds out where to begin, and catches up whenever the subscriber isn't live.
    """

    def __init__(self, subscriber: Subscriber, channel: Channel) -> None:
        reads_secondary = subscriber.delivery == "lossless"
        reader = StationReader(channel, subscriber.view.mode, reads_secondary=reads_secondary)
        super().__init__(subscriber, channel.station, reader)
        self.channel = channel
        self._subscriber = subscriber
        self._scope = trio.CancelScope()

    async def run(self) -> None:
        """Find out where to begin, and then catch up whenever the subscriber isn't live."""
        with self._scope:
            try:
                await self._begin()
                asked = self._subscriber.subscription.cursor_of(self._station)
                start: Start | Cursor = self.cursor() or ("start" if asked == "start" else "live")
                async with trio.open_nursery() as nursery:
                    for kind, source in self._subscriber.sources.items():
                        send = partial(self._subscriber.send_unlogged, kind, self._station)
                        nursery.start_soon(source, self.channel, start, send)
                    while True:
                        await self._catch_up()
                        await self._behind.wait()
            finally:
                self.leave()

    def end(self) -> None:
        """Make `run` return, because the station was removed."""
        self.leave()
        self._scope.cancel()

    def leave(self) -> None:
        """Leave the groups of the channel."""
        if self._reader.live:
            self.channel.detach(self)
            self._reader.live = False

    def cursor(self) -> Cursor | None:
        """Return the subscriber's cursor in the newest game from which it has received a message."""
        return self._reader.cursor()

    def _tell_status(self) -> None:
        self.tell_state(self.channel.state_message())
        self.tell_set(self.channel.set_message())

    async def _begin(self) -> None:
        self._tell_status()
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
        """Begin after a cursor. Raises `NoSuchGame` or `CursorGone` if that isn't possible."""
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
            self._subscriber.send_status(channel.snapshot(channel.current, self.view.mode))

    async def _catch_up(self) -> None:
        """Read every game until all heads are reached, and then become live."""
        self._behind = trio.Event()
        reader = self._reader
        while True:
            self._tell_status()
            unread = await reader.next()
            if unread is not None:
                await self._deliver(unread.game, unread.messages)
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
            for entry in self.view.entries([message], self._station, game.frames_per_second, self.bases):
                await self._subscriber.put_slowly(entry.data)
                self._reader.advance_to(game, message)  # now, because the station can end before the next message
        if messages:
            self._reader.advance_to(game, messages[-1])

    def _conflated(self, messages: Sequence[LogMessage]) -> Iterable[LogMessage]:
        """Return the messages that should be sent.

        A conflating subscriber only gets the newest of each droppable type.
        """
        if self.delivery == "lossless":
            return messages
        newest = {message.type: message for message in messages if message.type in DROPPABLE_TYPES}
        return [m for m in messages if m.type not in DROPPABLE_TYPES or newest[m.type] is m]


class LateDelivery(StationDelivery):
    """Like `StationDelivery`, but for a station that appeared, or came back, after the subscription had begun."""

    def __init__(
        self, subscriber: Subscriber, channel: Channel, left_at: Cursor | None, *, begins_live: bool = False
    ) -> None:
        """`left_at` is the position that the subscriber had when the station was removed.

        If you set `begins_live`, then even a lossless subscriber doesn't receive any earlier messages.
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
