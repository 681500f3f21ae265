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

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

import trio

from slpstream.errors import CursorGone, NoSuchGame, TooSlow
from slpstream.messages import DROPPABLE_TYPES, START, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.chain import ChainedWire, Chunk, Entry, Known, Link, is_link, predecessor
from slpstream.stream.game import Game, Order, place_of
from slpstream.stream.outbox import Outbox
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


class Source(Protocol):
    """What a subscriber needs of a channel."""

    station: str

    def snapshot(self, game: Game, mode: FramesMode) -> dict[str, Any]:
        """The `snapshot` of a game in progress."""

    def state_message(self) -> dict[str, Any]:
        """The `station` message."""

    @property
    def games(self) -> Sequence[Game]:
        """The known games, in order."""

    @property
    def current(self) -> Game | None:
        """The game with the newest Game Start."""

    @property
    def settled(self) -> bool:
        """It is known which games there are."""

    async def changed(self) -> None:
        """Returns after the next change."""

    async def locate(self, game_id: str) -> Game:
        """The game of a cursor, all later ones known. Raises `NoSuchGame`."""

    def next_order(self) -> Order:
        """The place of the next game that begins."""

    def attach(self, reader: StationReader) -> None:
        """A reader is live from here on."""

    def detach(self, reader: StationReader) -> None:
        """A reader is not live any more."""


class Subscriber:
    """One connection's subscription to any number of stations. `run` it until it is cancelled or raises what is
    wrong."""

    def __init__(self, subscription: Subscription, wire: Wire, outbox: Outbox, wake_writer: Callable[[], None]) -> None:
        self.subscription = subscription
        self.wire = wire
        self._chained = wire if isinstance(wire, ChainedWire) else None
        self.outbox = outbox
        self._wake_writer = wake_writer
        self._readers: list[StationReader] = []
        self._strays = 0
        self._drained = trio.Event()
        self._late: dict[tuple[str, str], bytes] = {}
        self._failed = trio.Event()
        self._left = False

    @property
    def key(self) -> Hashable:
        """Subscribers with equal keys get equal bytes."""
        wanted = self.subscription
        return (self.wire.key, wanted.frames, wanted.topics, wanted.rate, wanted.fields)

    async def run(self, channels: Iterable[Source]) -> None:
        """Follows the channels until cancelled. Raises `NoSuchGame` and `CursorGone` as they are found, and `TooSlow`;
        in groups."""
        self._readers = [StationReader(self, channel) for channel in channels]
        async with trio.open_nursery() as nursery:
            for reader in self._readers:
                nursery.start_soon(reader.run)
            await self._failed.wait()
            raise TooSlow("the connection is too slow for what may not be dropped")

    def stop(self) -> None:
        """Leaves all channels: nothing is sent any more."""
        self._left = True
        for reader in self._readers:
            reader.leave()

    def stray(self, error: NoSuchGame) -> None:
        """The cursor is not of one of the stations; raises `error` when it is of none of them."""
        self._strays += 1
        if self._strays == len(self._readers):
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
        return self.whole(message, station) if self._wants(message, frames_per_second) else None

    def entry(self, message: LogMessage, station: str, frames_per_second: int, known: Known) -> Entry | None:
        """The message for somebody who knows that much of the station, and who then knows this message too; `None` when
        the subscription does not want it."""
        if not self._wants(message, frames_per_second):
            return None
        if self._chained is None or not is_link(message):
            return Entry(self.whole(message, station), message)
        before = predecessor(known, message)
        known[message.type] = link = Link(message, self.subscription.fields)
        data = self.whole(message, station) if before is None else self._chained.follow(link, before, station)
        return Entry(data, message, before, link)

    def whole(self, message: LogMessage, station: str) -> bytes:
        """A message that is wanted, for somebody who knows nothing."""
        fields = self.subscription.fields
        if fields is None or message.type != "frame":
            return self.wire.log(message, station)
        return self.wire.cut(message, station, fields)

    def _wants(self, message: LogMessage, frames_per_second: int) -> bool:
        wanted = self.subscription
        if message.topic not in wanted.topics:
            return False
        if message.type != "frame" or wanted.rate is None:
            return True
        return keeps_frame(message.frame or 0, wanted.rate, frames_per_second)


def keeps_frame(number: int, rate: int, frames_per_second: int) -> bool:
    """Whether a frame number is among `rate` a second of game time. The same number is always answered the same."""
    return rate >= frames_per_second or number * rate % frames_per_second < rate


class StationReader:
    """A subscriber's place in one station."""

    def __init__(self, subscriber: Subscriber, channel: Source) -> None:
        self.subscriber = subscriber
        self.channel = channel
        self._mode = subscriber.subscription.frames
        self._places: dict[Game, Position] = {}
        self._exhausted: set[Game] = set()
        """Archived games that were read to their end: that cannot change."""
        self._first: Game | Order = (0, 0, "")
        """The first game that concerns this reader. A game can be moved in the order, so it is asked for its place
        each time."""
        self._told: dict[str, Any] = {}
        self._live = False
        self._behind = trio.Event()
        self._known: Known = {}

    async def run(self) -> None:
        """Finds the beginning, then catches up whenever the subscriber is behind."""
        try:
            await self._begin()
            while True:
                await self._catch_up()
                await self._behind.wait()
        finally:
            self.leave()

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
        places = {other: self._place(other) for other in self.channel.games}
        for other in places:
            if not (other.archived or other.catching_up or other is game):
                places[other] = other.logs[self._mode].head
        if position is not None:
            places[game] = position
        self._places = places
        self._behind.set()

    def readable(self, chunk: Chunk) -> bytes:
        """The bytes of a group's chunk, or those that this reader needs in its place. It is written at once."""
        data = chunk.joined
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
        channel, subscriber = self.channel, self.subscriber
        subscription = subscriber.subscription
        cursor = subscription.cursor_of(channel.station)
        self.tell_state()
        while not channel.settled:
            await channel.changed()  # only then is it known which games there are
        if isinstance(cursor, Cursor):
            try:
                game = await channel.locate(cursor.game_id)
            except NoSuchGame as error:
                if channel.station in subscription.cursors:
                    raise
                subscriber.stray(error)
                cursor = "live"  # it is of another of the stations
            else:
                self._first = game
                self._places[game] = await self._position(game, cursor)
                return
        if cursor == "start":
            current = channel.current
            self._first = channel.next_order() if current is None else current
            return
        while any(game.catching_up for game in channel.games):
            await channel.changed()
        running = [game for game in channel.games if game.in_progress]
        self._first = min(running, key=lambda game: game.order) if running else channel.next_order()
        for game in channel.games:
            self._places[game] = game.logs[self._mode].head
        if channel.current is not None and channel.current.in_progress:
            subscriber.send_status(channel.snapshot(channel.current, self._mode))

    async def _position(self, game: Game, cursor: Cursor) -> Position:
        position = cursor.position
        while game.catching_up and (position is None or position > game.logs[self._mode].head):
            await self.channel.changed()
        if position is None:
            return await game.find_frame(self._mode, cursor.frame or 0)
        if position > game.logs[self._mode].head and not game.archived and not game.in_progress:
            raise CursorGone("the game has ended before this place")
        return position

    def _place(self, game: Game) -> Position:
        """Where this reader is in a game. A file that was archived and has grown is another `Game` with the same
        log."""
        place = self._places.get(game)
        if place is None:
            same = (p for other, p in self._places.items() if other.archived and other.game_id == game.game_id)
            place = next(same, START)
        return place

    def _todo(self) -> list[Game]:
        """The games from the first one on, in the station's order."""
        first = self._first.order if isinstance(self._first, Game) else self._first
        return [game for game in self.channel.games if game.order >= first]

    async def _catch_up(self) -> None:
        """Reads on in every game until all heads are reached, then is live."""
        self._behind = trio.Event()
        while True:
            self.tell_state()
            progressed = waiting = False
            for game in self._todo():
                while await self._read(game):
                    progressed = True
                waiting |= game.catching_up or (not game.archived and self._place(game) > game.logs[self._mode].head)
            if progressed:
                continue
            if not waiting:
                break
            await self.channel.changed()
        self._live = True
        self.channel.attach(self)

    async def _read(self, game: Game) -> bool:
        """Delivers what follows in one game. True when there was anything, or when time passed."""
        if game in self._exhausted:
            return False
        log = game.logs[self._mode]
        place = self._place(game)
        messages: Sequence[LogMessage] | None = None if game.archived else log.since(place)
        if messages is None:
            messages = await game.replay(self._mode, place)
            if not messages:
                if not game.archived:
                    raise CursorGone("the replay does not have what follows any more")
                self._exhausted.add(game)
                return True
        if not messages:
            return False
        await trio.lowlevel.checkpoint()
        subscriber, station = self.subscriber, self.channel.station
        for message in self._conflated(messages):
            entry = subscriber.entry(message, station, game.frames_per_second, self._known)
            if entry is not None:
                await subscriber.put_slowly(entry.data)
        self._places[game] = place_of(messages[-1])
        return True

    def _conflated(self, messages: Sequence[LogMessage]) -> Iterable[LogMessage]:
        """All of them, or for a conflating subscriber the newest of what is droppable."""
        if self.subscriber.subscription.delivery == "lossless":
            return messages
        newest = {message.type: message for message in messages if message.type in DROPPABLE_TYPES}
        return [m for m in messages if m.type not in DROPPABLE_TYPES or newest[m.type] is m]
