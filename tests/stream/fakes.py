"""Stand-ins for the tests of the fan-out: a station without files and a connection without a network.

Logs are generated, the socket takes as many bytes as the test allows, and each message is encoded as one line.

Nothing here depends on the clock. A test triggers something, runs all tasks until they wait (`settle`), and checks the
messages that have arrived. Random schedules come from seeds.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator, Sequence, Set
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import msgspec
import trio
from trio.testing import wait_all_tasks_blocked

from slpstream.model.errors import CursorGone, NoSuchGame, SubscriberError
from slpstream.model.messages import FramesMode, LogMessage, Position
from slpstream.stream.channel import Channel, Hub
from slpstream.stream.game import Game, Order, Role
from slpstream.stream.outbox import Outbox, SendToAll
from slpstream.stream.subscriber import Subscriber
from slpstream.stream.subscription import Subscription, parse_subscription
from slpstream.system.internal_errors import InternalErrors

MODES: tuple[FramesMode, ...] = ("live", "finalized")
LIMIT_BYTES = 4000
RING_BYTES = 4000
settle = wait_all_tasks_blocked


async def turns(chance: random.Random) -> None:
    """Let the other tasks run for a random number of checkpoints."""
    if chance.random() < 0.2:
        await settle()
    for _ in range(chance.randint(0, 6)):
        await trio.lowlevel.checkpoint()


def subscription(**keys: Any) -> Subscription:
    """Return the subscription of a `subscribe` message with these keys."""
    return parse_subscription({"op": "subscribe", **keys})


def game_id(number: int) -> str:
    """A game id, 32 hex digits."""
    return f"{number:032x}"


class FakeLog:
    """The complete `live` and `finalized` logs of a generated game, in the batches in which they are published.

    Frames vary in size, are revised and become final; some come with an event or stats at the same offset.
    """

    def __init__(self, number: int = 1, *, batches: int = 30, ended: bool = True, seed: int = 1) -> None:
        self.game_id = game_id(number)
        self.batches: list[dict[FramesMode, list[LogMessage]]] = []
        self._offset = 0
        self._count = dict.fromkeys(MODES, 0)
        self._newest: dict[int, bytes] = {}
        self._chance = random.Random(f"{number} {seed}")
        self._write(batches, ended=ended)

    def whole(self, mode: FramesMode = "live") -> list[LogMessage]:
        """All messages of one mode."""
        return self.first(len(self.batches), mode)

    def first(self, batches: int, mode: FramesMode = "live") -> list[LogMessage]:
        """The messages of the first batches."""
        return [message for batch in self.batches[:batches] for message in batch[mode]]

    def _write(self, batches: int, *, ended: bool) -> None:
        final = -1
        self._begin()
        self._add("game_start", b'"format":"fake","rate":[60,1],"settings":{"players":[]}}')
        for number in range(batches):
            self._begin()
            if self._chance.random() < 0.2 and number - 1 > final:
                self._frame(number - 1, revision=1)
            self._frame(number, revision=0)
            if self._chance.random() < 0.8 and number - 2 > final:
                self._finalize(final, number - 2)
                final = number - 2
            if self._chance.random() < 0.3:
                self._add("event", b'"kind":"stock_lost","frame":%d}' % number)
            if self._chance.random() < 0.1:
                self._add("stats", b'"frame":%d,"stats":{"n":%d}}' % (number, number))
        if ended:
            self._begin()
            if batches:
                self._finalize(final, batches - 1)
            self._add("game_end", b'"reason":"game_end","winners":[]}')
            self._begin()
            self._add("metadata", b'"metadata":{}}')

    def _begin(self) -> None:
        self._offset += self._chance.randint(1, 300)
        self._count = dict.fromkeys(MODES, 0)
        self.batches.append({mode: [] for mode in MODES})

    def _frame(self, number: int, *, revision: int) -> None:
        padding = b"x" * self._chance.choice((0, 50, 400))
        text = b'"frame":{"frame":%d,"revision":%d,"players":{"0":{"post":{"pad":"%b","percent":%d.5}}}}}'
        self._newest[number] = text % (number, revision, padding, number)
        self._add("frame", self._newest[number], modes=("live",), frame=number)

    def _finalize(self, after: int, through: int) -> None:
        for number in range(after + 1, through + 1):
            self._add("frame", self._newest[number], modes=("finalized",), frame=number)
        self._add("finalized", b'"through":%d}' % through, modes=("live",))

    def _add(self, kind: str, body: bytes, *, modes: Sequence[FramesMode] = MODES, frame: int | None = None) -> None:
        for mode in modes:
            message = LogMessage(kind, self.game_id, mode, self._offset, self._count[mode], body, frame)
            self.batches[-1][mode].append(message)
            self._count[mode] += 1


class FakeFile:
    """The part of a log that is written so far. Reads back a few messages at a time, like `GrowingLogReader`."""

    def __init__(self, log: FakeLog, *, seed: int = 1) -> None:
        self.log = log
        self.written = 0
        self.gone = False
        self.replays = 0
        self.forgotten = 0
        self._chance = random.Random(f"{log.game_id} {seed} replay")
        self._readable: dict[FramesMode, tuple[int, list[LogMessage]]] = {mode: (0, []) for mode in MODES}
        """Number of batches, and their messages."""

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """The next messages after a position."""
        await trio.lowlevel.checkpoint()
        assert position.count >= 0, "a broker has no other positions"
        self.replays += 1
        if self.gone:
            raise CursorGone("the replay cannot be read any more")
        batches, messages = self._readable[mode]
        if batches > self.written:
            batches, messages = 0, []  # the file was rewritten from its beginning
        for batch in self.log.batches[batches : self.written]:
            messages += batch[mode]
        self._readable[mode] = (self.written, messages)
        first = bisect_right(messages, position, key=lambda message: message.position)
        return messages[first : first + self._chance.randint(1, 7)]

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """The position just before a frame."""
        await trio.lowlevel.checkpoint()
        for batch in self.log.batches[: self.written]:
            for message in batch[mode]:
                if message.frame is not None and message.frame >= number:
                    return message.position.before
        raise CursorGone(f"frame {number} is not in the game yet")

    def forget(self) -> None:
        """Count the calls."""
        self.forgotten += 1


class FakeStation:
    """A channel whose games the test writes. Games that the channel has dropped are found through their files."""

    def __init__(
        self,
        name: str = "main",
        *,
        ring_bytes: int = RING_BYTES,
        settled: bool = True,
        kept_games: int = 2,
        errors: InternalErrors | None = None,
    ) -> None:
        self.channel = Channel(name, self._locate, errors=errors, send_to_all=Client.send_to_all)
        self.channel.kept_games = kept_games
        self.channel.settled = settled
        self.files: dict[str, FakeFile] = {}
        self.archive: list[FakeFile] = []
        """Games from before the daemon started, oldest first. The channel adds them when it looks one up."""
        self.search_seconds = 0.0
        """How long a lookup of an archived game takes."""
        self._ring_bytes = ring_bytes

    def begin(self, log: FakeLog, *, catching_up: bool = False, secondary: bool = False) -> Game:
        """Begin a game, as if its file had appeared. A `secondary` game is a copy of an old one."""
        self.files[log.game_id] = file = FakeFile(log)
        order: Order = self.channel.next_order()
        game = Game(log.game_id, file, ring_bytes=self._ring_bytes, order=order)
        if catching_up:
            game.catch_up()
        if secondary:
            game.role = Role.SECONDARY
        self.channel.begin(game)
        return game

    def write(self, game: Game, batches: int = 1) -> bool:
        """Write the next batches of a game. Returns False when the game is complete."""
        file = self.files[game.game_id]
        for batch in file.log.batches[file.written : file.written + batches]:
            file.written += 1
            self.channel.publish(game, batch)
        return file.written < len(file.log.batches)

    def write_all(self, game: Game) -> None:
        """Write the rest of a game, batch by batch."""
        while self.write(game):
            pass

    def play(self, log: FakeLog) -> Game:
        """Begin a game and write all of it."""
        game = self.begin(log)
        self.write_all(game)
        return game

    def archived(self, *logs: FakeLog) -> None:
        """Add games that ended before the daemon started."""
        for log in logs:
            file = FakeFile(log)
            file.written = len(log.batches)
            self.archive.append(file)

    async def _locate(self, game_id: str) -> None:
        await trio.sleep(self.search_seconds)
        known = {game.game_id for game in self.channel.games if not game.archived}
        files = [file for file in (*self.archive, *self.files.values()) if file.log.game_id not in known]
        ids = [file.log.game_id for file in files]
        if game_id not in ids:
            raise NoSuchGame(f"no such game: {game_id}")
        games = [Game(file.log.game_id, file, ring_bytes=0, order=(0, n, "")) for n, file in enumerate(files)]
        self.channel.insert_archived(games[ids.index(game_id) :])


class LineEncoding:
    """Encodes each message as a line, and counts how many messages it encoded."""

    key = "lines"

    def __init__(self) -> None:
        self.encoded = 0

    def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
        """A log message as a line. A `frame` message can be cut down to `fields`."""
        return self._line(message.json(station, fields))

    def joined(
        self, messages: list[LogMessage], station: str, types: Set[str], fields: tuple[str, ...] | None
    ) -> bytes:
        """The lines of the messages of these types."""
        wanted = [message for message in messages if message.type in types]
        return b"".join(self.log(m, station, fields if m.type == "frame" else None) for m in wanted)

    def status(self, payload: dict[str, Any]) -> bytes:
        """A status message as a line."""
        return msgspec.json.encode(payload) + b"\n"

    def _line(self, json: bytes) -> bytes:
        self.encoded += 1
        return json + b"\n"


class Client:
    """One connection whose socket takes as many bytes as the test allows. Keeps all received bytes."""

    send_to_all: ClassVar[SendToAll | None] = None
    """How channels write to several clients at once; `None` to write to one after the other."""
    _by_descriptor: ClassVar[WeakValueDictionary[int, Client]] = WeakValueDictionary()
    _descriptors: ClassVar[Iterator[int]] = count()

    def __init__(self, *, room: int | None = None, limit_bytes: int = LIMIT_BYTES, encoding: Any = None) -> None:
        self.room = room
        """Number of bytes that the socket still takes; `None` for no limit."""
        self.encoding: Any = LineEncoding() if encoding is None else encoding
        """An `Encoding`. Only with a `LineEncoding`, the bytes are lines."""
        self.received = bytearray()
        self.descriptor = -1
        if Client.send_to_all is not None:  # a real one would write to what really has this descriptor
            self.descriptor = next(self._descriptors)
            self._by_descriptor[self.descriptor] = self
        self.error: SubscriberError | None = None
        self.outbox = Outbox(self, limit_bytes=limit_bytes, wake_writer=self._wake_writer, tell_missed=self._lagged)
        self.max_queued = 0
        self._split_bytes = 0
        self._all_lines: list[bytes] = []
        self._lines: list[bytes] = []
        self._log: list[bytes] = []
        self._changed = trio.Event()
        self._subscriber: Subscriber | None = None

    def write_now(self, data: bytes | memoryview) -> int:
        """Take as many bytes as there is room for."""
        taken = len(data) if self.room is None else min(self.room, len(data))
        self.received += data[:taken]
        if self.room is not None:
            self.room -= taken
        return taken

    @classmethod
    def send_at_once(cls, descriptors: list[int], data: bytes) -> list[tuple[int, int]]:
        """Do what `send_to_all` of the kernel does, but with the sockets of clients."""
        clients = [cls._by_descriptor.get(descriptor) for descriptor in descriptors]
        assert all(client is None or client.outbox.empty for client in clients), "these bytes would overtake others"
        taken = [0 if client is None else client.write_now(data) for client in clients]
        return [(index, size) for index, size in enumerate(taken) if size < len(data)]

    def _lagged(self, missed: int) -> bytes:
        status: bytes = self.encoding.status({"type": "lagged", "missed": missed})
        return status

    def allow(self, room: int | None) -> None:
        """Let the socket take `room` more bytes; `None` for no limit from now on."""
        self.room = None if room is None or self.room is None else self.room + room
        self._changed.set()

    @asynccontextmanager
    async def subscribed(self, hub: Hub, request: Subscription, *, settled: bool = True) -> AsyncIterator[Client]:
        """Follow the subscription inside the `async with` block. If not `settled`, the block begins immediately."""
        hub.check(request.stations)
        subscriber = Subscriber(request, self.encoding, self.outbox)
        self._subscriber = subscriber
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._pump, subscriber)
            nursery.start_soon(self._follow, subscriber, hub)
            if settled:
                await settle()
            yield self
            nursery.cancel_scope.cancel()

    async def _follow(self, subscriber: Subscriber, hub: Hub) -> None:
        self.error = await subscriber.run(hub, InternalErrors())

    async def _pump(self, subscriber: Subscriber) -> None:
        while True:
            self._changed = trio.Event()
            self.max_queued = max(self.max_queued, self.outbox.queued_bytes)
            if not self.outbox.empty and self.room != 0 and self.outbox.flush():
                subscriber.flushed()
            await self._changed.wait()

    def _wake_writer(self) -> None:
        self.max_queued = max(self.max_queued, self.outbox.queued_bytes)
        self._changed.set()

    def decoded_line(self, line: bytes) -> bytes:
        """A received line as JSON. It is called once for each line, in order."""
        return line

    def _split(self) -> None:
        """Split the bytes received since the last call, because tests poll while tens of thousands of lines arrive."""
        end = self.received.rfind(b"\n") + 1
        if end <= self._split_bytes:
            return
        for encoded in bytes(self.received[self._split_bytes : end - 1]).split(b"\n"):
            line = self.decoded_line(encoded)
            self._all_lines.append(line)
            if line.startswith((b'{"type":"station"', b'{"type":"set"')):
                continue
            self._lines.append(line)
            if b'"cursor":' in line[:120] and not line.startswith(b'{"type":"snapshot"'):
                self._log.append(line)
        self._split_bytes = end

    @property
    def all_lines(self) -> list[bytes]:
        """All complete lines."""
        self._split()
        return self._all_lines.copy()

    @property
    def lines(self) -> list[bytes]:
        """All complete lines except `station` and `set` messages."""
        self._split()
        return self._lines.copy()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of `lines`, decoded."""
        return [msgspec.json.decode(line) for line in self.lines]

    @property
    def log(self) -> list[bytes]:
        """The lines that are log messages."""
        self._split()
        return self._log.copy()

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """All messages of one type, decoded."""
        messages = [msgspec.json.decode(line) for line in self.all_lines]
        return [message for message in messages if message["type"] == kind]

    def cursor(self) -> str:
        """The cursor of the last log message."""
        cursor: str = msgspec.json.decode(self.log[-1])["cursor"]
        return cursor


def lines(log: FakeLog, station: str = "main", *, mode: FramesMode = "live") -> list[bytes]:
    """The lines that a lossless subscriber to all topics receives."""
    return [message.json(station) for message in log.whole(mode)]


def hub_of(*stations: FakeStation) -> Hub:
    """A hub with these stations."""
    hub = Hub()
    for station in stations:
        hub.add(station.channel)
    return hub
