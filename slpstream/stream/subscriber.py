"""One subscriber: is given messages as they come while it keeps up, and reads the logs at its own pace when it does
not.

Two states. *Live*: it is in its channel's groups and gets what is published, straight to the socket. *Behind*: it has
a position in each game, and its `run` task reads on from there, out of the rings or, for what they have dropped, by
`replay`; when it has reached every head, without a pause between looking and deciding, it is live again. Everybody
starts behind.

A conflating subscriber never falls behind by being slow: its outbox drops what is droppable. A lossless one whose
outbox is full goes behind with the position of the last message that was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import trio

from slpstream.errors import NoSuchGame, TooSlow
from slpstream.messages import DROPPABLE_TYPES, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.game import Game, place_of
from slpstream.stream.outbox import Outbox
from slpstream.stream.reading import Games, Reading
from slpstream.stream.subscription import Subscription


class Wire(Protocol):
    """How messages look on one kind of connection. `key` tells kinds apart; equal keys share encodings."""

    @property
    def key(self) -> Hashable:
        """Equal keys share encodings."""

    def log(self, message: LogMessage, station: str) -> bytes:
        """A log message, ready for the socket."""

    def cut(self, message: LogMessage, station: str, fields: Sequence[str]) -> bytes:
        """A `frame` message cut down to some fields, ready for the socket."""

    def status(self, payload: dict[str, Any]) -> bytes:
        """A status message, ready for the socket."""


class Source(Games, Protocol):
    """What a subscriber needs of a channel."""

    def snapshot(self, game: Game, mode: FramesMode) -> dict[str, Any]:
        """The `snapshot` of a game in progress."""

    def state_message(self) -> dict[str, Any]:
        """The `station` message."""

    def attach(self, reader: StationReader) -> None:
        """A reader is live from here on."""

    def detach(self, reader: StationReader) -> None:
        """A reader is not live any more."""


class Sources(Protocol):
    """The stations of a subscription, which come and go."""

    def __iter__(self) -> Iterator[Source]:
        """Those that there are now."""

    @property
    def over(self) -> bool:
        """None is left, and none can come."""

    async def changed(self) -> None:
        """Returns after the next one that comes or goes."""


class Subscriber:
    """One connection's subscription to any number of stations. `run` it until it is cancelled or raises what is
    wrong."""

    def __init__(self, subscription: Subscription, wire: Wire, outbox: Outbox, wake_writer: Callable[[], None]) -> None:
        self.subscription = subscription
        self.wire = wire
        self.outbox = outbox
        self._wake_writer = wake_writer
        self._readers: list[StationReader] = []
        self._strangers = 0
        """Stations of the beginning of which nobody has said yet that the cursor is not of them."""
        self._drained = trio.Event()
        self._late: dict[tuple[str, str], bytes] = {}
        self._failed = trio.Event()
        self._left = False

    @property
    def key(self) -> Hashable:
        """Subscribers with equal keys get equal bytes."""
        wanted = self.subscription
        return (self.wire.key, wanted.frames, wanted.topics, wanted.rate, wanted.fields)

    async def run(self, channels: Sources) -> None:
        """Follows the channels, as they come and go, until cancelled. Raises `NoSuchGame` and `CursorGone` as they are
        found, and `TooSlow`; in groups."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow, channels, nursery)
            await self._failed.wait()
            raise TooSlow("the connection is too slow for what may not be dropped")

    async def _follow(self, channels: Sources, nursery: trio.Nursery) -> None:
        """A reader for each channel. One that has come later is read from its beginning by who wants all of it."""
        self._readers = [StationReader(self, channel) for channel in channels]
        self._strangers = len(self._readers)
        for reader in self._readers:
            nursery.start_soon(reader.run)
        while not self._left:
            wanted = list(channels)
            for reader in [reader for reader in self._readers if reader.channel not in wanted]:
                self._readers.remove(reader)
                reader.tell_state()
                reader.end()
            if channels.over:
                raise NoSuchGame("the station has been removed")
            known = [reader.channel for reader in self._readers]
            for channel in [channel for channel in wanted if channel not in known]:
                reader = StationReader(self, channel, joined_later=True)
                self._readers.append(reader)
                nursery.start_soon(reader.run)
            await channels.changed()

    def stop(self) -> None:
        """Leaves all channels: nothing is sent any more."""
        self._left = True
        for reader in self._readers:
            reader.leave()

    def stray(self, error: NoSuchGame) -> None:
        """The cursor is not of one of the stations; raises `error` when it is of none of them."""
        self._strangers -= 1
        if not self._strangers:
            raise error

    # -- sending -----------------------------------------------------------------------------------------------------

    def send_status(self, payload: dict[str, Any]) -> None:
        """A status message; it may not be dropped. A lossless subscriber that has no room is told the newest one of
        its type and station later."""
        data = self.wire.status(payload)
        if self.subscription.delivery == "conflate":
            self._put(data, None)
        elif not self.outbox.put(data):
            self._late[payload["type"], payload["station"]] = data
        self._wake_if_waiting()

    def put(self, data: bytes, message: LogMessage, station: str) -> bool:
        """A log message of a live subscriber. False when a lossless one is full: then it was not taken."""
        if self.subscription.delivery == "lossless":
            if self.outbox.put(data):
                self._wake_if_waiting()
                return True
            return False
        droppable = message.type in DROPPABLE_TYPES
        self._put(data, (station, message.game_id, message.type) if droppable else None)
        return True

    async def put_slowly(self, data: bytes) -> None:
        """A message that is read back from the log: waits until the outbox has drained before it takes more."""
        while not self.outbox.empty or self._left:
            if self._drained.is_set():
                self._drained = trio.Event()
            self._wake_if_waiting()
            await self._drained.wait()
        self.outbox.put(data)
        self._wake_if_waiting()

    def flushed(self) -> None:
        """The connection has written all that waited."""
        late, self._late = self._late, {}
        for data in late.values():
            self.outbox.put(data)
        self._drained.set()

    def wake(self) -> None:
        """Something waits in the outbox: the connection writes it when it can."""
        self._wake_writer()

    def _put(self, data: bytes, key: Hashable) -> None:
        """What follows something that did not fit is not sent either: a cursor says that all before it was seen."""
        if not self._left and not self.outbox.put(data, key):
            self.stop()
            self._failed.set()
        self._wake_if_waiting()

    def _wake_if_waiting(self) -> None:
        if not self.outbox.empty:
            self._wake_writer()

    # -- choosing ----------------------------------------------------------------------------------------------------

    def encode(self, message: LogMessage, station: str, frames_per_second: int) -> bytes | None:
        """The bytes for this subscription, `None` when it does not want the message."""
        wanted = self.subscription
        if message.topic not in wanted.topics:
            return None
        if message.type != "frame":
            return self.wire.log(message, station)
        if wanted.rate is not None and not keeps_frame(message.frame or 0, wanted.rate, frames_per_second):
            return None
        if wanted.fields is not None:
            return self.wire.cut(message, station, wanted.fields)
        return self.wire.log(message, station)


def keeps_frame(number: int, rate: int, frames_per_second: int) -> bool:
    """Whether a frame number is among `rate` a second of game time. The same number is always answered the same."""
    return rate >= frames_per_second or number * rate % frames_per_second < rate


class StationReader:
    """A subscriber's place in one station."""

    def __init__(self, subscriber: Subscriber, channel: Source, *, joined_later: bool = False) -> None:
        """`joined_later`: the station has come after the subscriber."""
        self.subscriber = subscriber
        self.channel = channel
        self._joined_later = joined_later
        self._scope = trio.CancelScope()
        self._mode = subscriber.subscription.frames
        self._reading = Reading(channel, self._mode)
        self._told: dict[str, Any] = {}
        self._live = False
        self._behind = trio.Event()

    async def run(self) -> None:
        """Finds the beginning, then catches up whenever the subscriber is behind."""
        with self._scope:
            try:
                await self._begin()
                while True:
                    await self._catch_up()
                    await self._behind.wait()
            finally:
                self.leave()

    def end(self) -> None:
        """The station has gone: `run` returns."""
        self.leave()
        self._scope.cancel()

    def leave(self) -> None:
        """Out of the channel's groups."""
        if self._live:
            self.channel.detach(self)
            self._live = False

    def tell_state(self) -> None:
        """The station's state, if it is not what this reader was told last."""
        state = self.channel.state_message()
        if state != self._told:
            self._told = state
            self.subscriber.send_status(state)

    def fall_behind(self, game: Game, position: Position | None = None) -> None:
        """The message behind `position` of `game` was not taken: read on from there, or from where this reader has
        been in it. Of all that were live it is at the heads."""
        if not self._live:
            return
        self.leave()
        places = {other: self._reading.place(other) for other in self.channel.games}
        for other in places:
            if not (other.archived or other.catching_up or other is game):
                places[other] = other.logs[self._mode].head
        if position is not None:
            places[game] = position
        self._reading.places = places
        self._behind.set()

    async def _begin(self) -> None:
        channel, subscriber, reading = self.channel, self.subscriber, self._reading
        subscription = subscriber.subscription
        cursor = subscription.cursor_of(channel.station)
        self.tell_state()
        await reading.settle()  # only then is it known which games there are
        if self._joined_later and subscription.delivery == "lossless":
            reading.from_first_played()  # all that was played since it has come
            return
        if self._joined_later and isinstance(cursor, Cursor):
            cursor = "live"  # it is of a station of before
        if isinstance(cursor, Cursor):
            try:
                game = await channel.locate(cursor.game_id)
            except NoSuchGame as error:
                if channel.station in subscription.cursors:
                    raise
                subscriber.stray(error)
                cursor = "live"  # it is of another of the stations
            else:
                reading.first = game
                reading.places[game] = await reading.position_of(game, cursor)
                return
        if cursor == "start":
            reading.from_start()
            return
        while any(game.catching_up for game in channel.games):
            await channel.changed()
        reading.from_heads()
        if channel.current is not None and channel.current.in_progress:
            subscriber.send_status(channel.snapshot(channel.current, self._mode))

    async def _catch_up(self) -> None:
        """Reads on in every game until all heads are reached, then is live."""
        self._behind = trio.Event()
        reading = self._reading
        while True:
            self.tell_state()
            progressed = waiting = False
            for game in reading.todo():
                while await self._read(game):
                    progressed = True
                waiting |= game.catching_up or (not game.archived and reading.place(game) > game.logs[self._mode].head)
            if progressed:
                continue
            if not waiting:
                break
            await self.channel.changed()
        self._live = True
        self.channel.attach(self)

    async def _read(self, game: Game) -> bool:
        """Delivers what follows in one game. True when there was anything, or when time passed."""
        messages = await self._reading.following(game)
        if not messages:
            return messages is not None
        await trio.lowlevel.checkpoint()
        subscriber, station = self.subscriber, self.channel.station
        for message in self._conflated(messages):
            data = subscriber.encode(message, station, game.frames_per_second)
            if data is not None:
                await subscriber.put_slowly(data)
        self._reading.places[game] = place_of(messages[-1])
        return True

    def _conflated(self, messages: Sequence[LogMessage]) -> Iterable[LogMessage]:
        """All of them, or for a conflating subscriber the newest of what is droppable."""
        if self.subscriber.subscription.delivery == "lossless":
            return messages
        newest = {message.type: message for message in messages if message.type in DROPPABLE_TYPES}
        return [m for m in messages if m.type not in DROPPABLE_TYPES or newest[m.type] is m]
