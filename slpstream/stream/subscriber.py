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

from slpstream.model.errors import NoSuchGame, TooSlow
from slpstream.model.messages import DROPPABLE_TYPES, START, TOPIC_OF_TYPE, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.delta_bases import Chunk, DeltaBase, DeltaEncoding, Entry, Known, is_link, predecessor
from slpstream.stream.game import Game, place_of
from slpstream.stream.outbox import Outbox
from slpstream.stream.read_position import Games, ReadPosition
from slpstream.stream.subscription import Start, Subscription

_MESSAGES_AT_ONCE = 8
"""Many who catch up must not hold up those who are live."""


class Encoding(Protocol):
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

    def set_message(self) -> dict[str, Any] | None:
        """The `set` message; `None` while there is no set."""

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

    def __init__(
        self, subscription: Subscription, encoding: Encoding, outbox: Outbox, wake_writer: Callable[[], None]
    ) -> None:
        self.subscription = subscription
        self.encoding = encoding
        self.key: Hashable = (
            encoding.key, subscription.frames, subscription.topics, subscription.rate, subscription.fields
        )  # fmt: skip
        """Subscribers with equal keys get equal bytes."""
        self._types = frozenset(kind for kind, topic in TOPIC_OF_TYPE.items() if topic in subscription.topics)
        self._chained = encoding if isinstance(encoding, DeltaEncoding) else None
        self.outbox = outbox
        self._wake_writer = wake_writer
        self._readers: list[StationReader] = []
        self._strangers = 0
        """Stations of the beginning of which nobody has said yet that the cursor is not of them."""
        self._drained = trio.Event()
        self._late: dict[tuple[str, str], bytes] = {}
        self._failed = trio.Event()
        self._left = False

    async def run(self, channels: Sources) -> None:
        """Follows the channels, as they come and go, until cancelled. Raises `NoSuchGame` and `CursorGone` as they are
        found, and `TooSlow`; in groups."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow, channels, nursery)
                await self._failed.wait()
                raise TooSlow("the connection is too slow for what may not be dropped")
        finally:
            self._readers = []  # they hold this, and circles are freed late

    async def _follow(self, channels: Sources, nursery: trio.Nursery) -> None:
        """A reader for each channel, as they come and go."""
        left_at: dict[str, Cursor | None] = {}
        self._readers = [StationReader(self, channel) for channel in channels]
        self._strangers = len(self._readers)
        for reader in self._readers:
            nursery.start_soon(reader.run)
        while not self._left:
            wanted = list(channels)
            for reader in [reader for reader in self._readers if reader.channel not in wanted]:
                self._readers.remove(reader)
                left_at[reader.channel.station] = reader.place() or left_at.get(reader.channel.station)
                reader.tell_state()
                reader.end()
            if channels.over:
                raise NoSuchGame("the station has been removed")
            known = [reader.channel for reader in self._readers]
            for channel in [channel for channel in wanted if channel not in known]:
                reader = LaterReader(self, channel, left_at.get(channel.station))
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
        if self._left:
            return
        data = self.encoding.status(payload)
        if self.subscription.delivery == "conflate":
            self._put(data, None)
        elif not self.outbox.put(data):
            self._late[payload["type"], payload["station"]] = data
        self._wake_if_waiting()

    def put(self, data: bytes, message: LogMessage, station: str) -> bool:
        """A log message of a live subscriber. False when a lossless one is full: then it was not taken. What follows a
        snapshot that is still to be told must not overtake it."""
        if self.subscription.delivery == "lossless":
            if not self._late and self.outbox.put(data):
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
        return self.whole(message, station) if self._wants(message, frames_per_second) else None

    def entry(self, message: LogMessage, station: str, frames_per_second: int, known: Known) -> Entry | None:
        """The message for somebody who knows that much of the station, and who then knows this message too; `None` when
        the subscription does not want it."""
        if not self._wants(message, frames_per_second):
            return None
        if self._chained is None or not is_link(message):
            return Entry(self.whole(message, station), message)
        before = predecessor(known, message)
        known[message.type] = link = DeltaBase(message, self.subscription.fields)
        data = self.whole(message, station) if before is None else self._chained.follow(link, before, station)
        return Entry(data, message, before, link)

    def whole(self, message: LogMessage, station: str) -> bytes:
        """A message that is wanted, for somebody who knows nothing."""
        fields = self.subscription.fields
        if fields is None or message.type != "frame":
            return self.encoding.log(message, station)
        return self.encoding.cut(message, station, fields)

    def _wants(self, message: LogMessage, frames_per_second: int) -> bool:
        if message.type not in self._types:
            return False
        rate = self.subscription.rate
        return rate is None or message.type != "frame" or keeps_frame(message.frame or 0, rate, frames_per_second)


def keeps_frame(number: int, rate: int, frames_per_second: int) -> bool:
    """Whether a frame number is among `rate` a second of game time. The same number is always answered the same."""
    return rate >= frames_per_second or number * rate % frames_per_second < rate


class StationReader:
    """A subscriber's place in one station."""

    def __init__(self, subscriber: Subscriber, channel: Source) -> None:
        self.subscriber = subscriber
        self.channel = channel
        self._scope = trio.CancelScope()
        self._mode = subscriber.subscription.frames
        self._reading = ReadPosition(channel, self._mode)
        self._told: dict[str, Any] = {}
        self._told_set: dict[str, Any] | None = None
        self._behind = trio.Event()
        self._known: Known = {}

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
        if self._reading.at_heads:
            self.channel.detach(self)
            self._reading.at_heads = False

    def tell_state(self) -> None:
        """The station's state, if it is not what this reader was told last."""
        state = self.channel.state_message()
        if state != self._told:
            self._told = state
            self.subscriber.send_status(state)

    def tell_set(self) -> None:
        """The station's set, if it is not what this reader was told last."""
        message = self.channel.set_message()
        if message is not None and message != self._told_set:
            self._told_set = message
            self.subscriber.send_status(message)

    def fall_behind(self, game: Game, position: Position | None = None) -> None:
        """The message behind `position` of `game` was not taken: read on from there, or from where this reader has
        been in it. Of all that were live it is at the heads."""
        if not self._reading.at_heads:
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

    def place(self) -> Cursor | None:
        """Where this reader is: in the newest game of which it has read anything."""
        for game in reversed(self._reading.todo()):
            at_head = self._reading.at_heads and not game.archived
            place = game.logs[self._mode].head if at_head else self._reading.place(game)
            if place > START:
                return Cursor(game.game_id, self._mode, place)
        return None

    def readable(self, chunk: Chunk) -> bytes:
        """The bytes of a group's chunk, or those that this reader needs in its place. It is written at once."""
        data = chunk.joined
        if not chunk.links:
            return data
        if not chunk.fits(self._known):
            known = dict(self._known)
            parts = []
            for entry in chunk.entries:
                parts.append(self._bytes(entry, known))
                if entry.link is not None:
                    known[entry.message.type] = entry.link
            data = b"".join(parts)
        self._known.update(chunk.links)
        return data

    def put(self, entry: Entry) -> bool:
        """A message of a group behind what waits already; false when it was not taken."""
        conflate = self.subscriber.subscription.delivery == "conflate"
        if conflate and entry.link is not None:  # what follows what may be dropped would be of no use
            self._known.pop(entry.message.type, None)
            return self.subscriber.put(self._bytes(entry, {}), entry.message, self.channel.station)
        taken = self.subscriber.put(self._bytes(entry, self._known), entry.message, self.channel.station)
        if taken and entry.link is not None:
            self._known[entry.message.type] = entry.link
        return taken

    def _bytes(self, entry: Entry, known: Known) -> bytes:
        return entry.data if entry.fits(known) else self.subscriber.whole(entry.message, self.channel.station)

    async def _begin(self) -> None:
        self.tell_state()
        self.tell_set()
        await self._reading.settle()  # only then is it known which games there are
        await self._find_beginning()

    async def _find_beginning(self) -> None:
        subscription, station = self.subscriber.subscription, self.channel.station
        cursor = subscription.cursor_of(station)
        if isinstance(cursor, Cursor):
            try:
                await self._begin_behind(cursor)
            except NoSuchGame as error:
                if station in subscription.cursors:
                    raise
                self.subscriber.stray(error)
                cursor = "live"  # it is of another of the stations
            else:
                return
        await self._begin_at(cursor)

    async def _begin_behind(self, cursor: Cursor) -> None:
        """Raises `NoSuchGame`."""
        game = await self.channel.locate(cursor.game_id)
        self._reading.first = game
        self._reading.places[game] = await self._reading.position_of(game, cursor)

    async def _begin_at(self, start: Start) -> None:
        channel = self.channel
        if start == "start":
            self._reading.from_start()
            return
        while any(game.catching_up for game in channel.games):
            await channel.changed()
        self._reading.from_heads()
        if channel.current is not None and channel.current.in_progress:
            self.subscriber.send_status(channel.snapshot(channel.current, self._mode))

    async def _catch_up(self) -> None:
        """Reads on in every game until all heads are reached, then is live."""
        self._behind = trio.Event()
        reading = self._reading
        while True:
            self.tell_state()
            self.tell_set()
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
        self._reading.live()
        self.channel.attach(self)

    async def _read(self, game: Game) -> bool:
        """Delivers what follows in one game. True when there was anything, or when time passed."""
        messages = await self._reading.following(game)
        if not messages:
            return messages is not None
        subscriber, station = self.subscriber, self.channel.station
        for count, message in enumerate(self._conflated(messages)):
            if count % _MESSAGES_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            entry = subscriber.entry(message, station, game.frames_per_second, self._known)
            if entry is not None:
                await subscriber.put_slowly(entry.data)
                self._reading.places[game] = place_of(message)  # it can end before the next one
        self._reading.places[game] = place_of(messages[-1])
        return True

    def _conflated(self, messages: Sequence[LogMessage]) -> Iterable[LogMessage]:
        """All of them, or for a conflating subscriber the newest of what is droppable."""
        if self.subscriber.subscription.delivery == "lossless":
            return messages
        newest = {message.type: message for message in messages if message.type in DROPPABLE_TYPES}
        return [m for m in messages if m.type not in DROPPABLE_TYPES or newest[m.type] is m]


class LaterReader(StationReader):
    """The reader of a station that has come after its subscriber; or has come back, or is another one of its name."""

    def __init__(self, subscriber: Subscriber, channel: Source, left_at: Cursor | None) -> None:
        """`left_at`: where the subscriber was when it went."""
        super().__init__(subscriber, channel)
        self._left_at = left_at

    async def _find_beginning(self) -> None:
        """Who wants all of it gets all that follows, or all that was played since it has come."""
        subscription = self.subscriber.subscription
        asked = subscription.cursor_of(self.channel.station)
        if subscription.delivery == "conflate":
            await self._begin_at("start" if asked == "start" else "live")
            return
        cursor = self._left_at or subscription.cursors.get(self.channel.station)
        if isinstance(cursor, Cursor):
            try:
                await self._begin_behind(cursor)
            except NoSuchGame:
                pass
            else:
                return
        self._reading.from_first_played()
