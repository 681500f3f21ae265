"""One subscriber: receives messages as they are published while it keeps up, and reads the logs at its own pace if not.

For each station, a subscriber is in one of two states. *Live*: it belongs to a group of its channel, which writes new
messages straight to its socket. *Catching up*: its `run` task works through the logs with a `StationReader`. Once every
head is reached, the subscriber becomes live without a checkpoint in between. Every subscriber starts by catching up.

A conflating subscriber stays live however slow it is, because its outbox drops droppable messages. A lossless one whose
outbox is full has to catch up from the last message that was queued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import trio

from slpstream.model.errors import NoSuchGame, SubscriberError, SubscriptionFailed, TooSlow, first_refusal
from slpstream.model.messages import DROPPABLE_TYPES, Cursor, LogMessage
from slpstream.stream.channel import Channel, WantedChannels
from slpstream.stream.game import Game
from slpstream.stream.games import StationReader
from slpstream.stream.live_subscriber import LiveSubscriber, Recipient
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscription import Start, Subscription
from slpstream.stream.view import Encoding
from slpstream.system.internal_errors import InternalErrors

_MESSAGES_PER_CHECKPOINT = 8  # hundreds of subscribers that catch up must not delay the live ones


class Subscriber(Recipient):
    """One connection's subscription to any number of stations.

    `run` follows the stations until it is cancelled or raises.
    """

    def __init__(
        self, subscription: Subscription, encoding: Encoding, outbox: Outbox, wake_writer: Callable[[], None]
    ) -> None:
        super().__init__(subscription, encoding, outbox, wake_writer)
        self._stations: list[StationDelivery] = []
        self._possible_owners = 0  # stations that may still own the cursor
        self._told_on_air: dict[str, Any] | None = None

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
        """Send which station is on air, if the subscription wants it and it has changed."""
        message = channels.on_air_message()
        if message is not None and message != self._told_on_air:
            self._told_on_air = message
            self.send_status(message)

    def stop(self) -> None:
        """Leave all channels; nothing more is sent."""
        super().stop()
        for station in self._stations:
            station.leave()

    def disown(self, error: NoSuchGame) -> None:
        """Take note that one station does not own the cursor. Raises `error` if no other station can own it."""
        self._possible_owners -= 1
        if not self._possible_owners:
            raise error


class StationDelivery(LiveSubscriber):
    """A subscriber's share of one station: finds where to begin, and catches up whenever the subscriber is not live."""

    def __init__(self, subscriber: Subscriber, channel: Channel) -> None:
        reads_secondary = subscriber.delivery == "lossless"
        reader = StationReader(channel, subscriber.view.mode, reads_secondary=reads_secondary)
        super().__init__(subscriber, channel.station, reader)
        self.channel = channel
        self._subscriber = subscriber
        self._scope = trio.CancelScope()

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

    def cursor(self) -> Cursor | None:
        """Return the subscriber's cursor in the newest game of which it has received a message."""
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
            self._subscriber.send_status(channel.snapshot(channel.current, self.view.mode))

    async def _catch_up(self) -> None:
        """Read every game until all heads are reached, then become live."""
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
