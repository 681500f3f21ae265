"""Subscribers join and leave while games are played. From its first message on, each receives the messages of `dump`.

A real pipeline feeds the channel, and messages are made when a subscriber wants them. The messages of one subscriber
must not depend on the others: on whether a frame was ever encoded or decoded, in which form, and whether it is in the
ring or read back from the file. So each schedule mixes both modes, all encodings, topics, fields, rates, sockets that
take some bytes at a time, and cursors. A schedule depends only on its seed; each game is played with one seed for every
75 of `SLPSTREAM_EXAMPLES`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from slpstream.api import messages
from slpstream.formats import kernel as room
from slpstream.formats.slippi import packed_frame
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game import log_reader
from slpstream.game.log_reader import GrowingLogReader
from slpstream.game.log_writer import MODES, Batch
from slpstream.game.pipeline import Pipeline
from slpstream.model.delta import DeltaDecoder
from slpstream.model.messages import START, FramesMode, LogMessage, Position, cut_entry
from slpstream.model.topics import TOPIC_OF_TYPE, TOPICS
from slpstream.stream.channel import Channel, Hub
from slpstream.stream.game import Game
from slpstream.web.encodings import DELTA, JSON, MESSAGEPACK
from slpstream.web.events import ServerSentEventsEncoding
from tests.replays import existing, replay
from tests.stream.fakes import Client, settle, subscription

STATION = "main"
SEEDS = max(1, int(os.environ.get("SLPSTREAM_EXAMPLES", "150")) // 75)
MAX_SUBSCRIBERS = 5
FIELDS: tuple[tuple[str, ...] | None, ...] = (
    None,
    None,
    ("post.percent",),
    ("pre.joystickX", "post.positionX", "post.actionStateId", "items"),
    ("start.seed", "stageEvents"),
)
GAMES = existing("quit_0.2", "rollbacks_3.0", "ice_climbers_rollbacks_3.18", "dream_land_3.18", "ics", "geckoCodes")

Decode = Callable[[bytes], Iterator[dict[str, Any]]]
"""Decode the bytes of a connection to messages. An incomplete message at the end is left out."""


def websocket_payloads(received: bytes) -> Iterator[bytes]:
    """The payloads of unmasked websocket messages of one frame each."""
    at = 0
    while at + 2 <= len(received):
        size, at = received[at + 1], at + 2
        if size >= 126:
            width = 2 if size == 126 else 8
            size, at = int.from_bytes(received[at : at + width], "big"), at + width
        if at + size > len(received):
            return
        yield received[at : at + size]
        at += size


def from_json(received: bytes) -> Iterator[dict[str, Any]]:
    yield from map(msgspec.json.decode, websocket_payloads(received))


def from_messagepack(received: bytes) -> Iterator[dict[str, Any]]:
    yield from map(msgspec.msgpack.decode, websocket_payloads(received))


def from_deltas(received: bytes) -> Iterator[dict[str, Any]]:
    yield from map(DeltaDecoder().decode, websocket_payloads(received))


def from_events(received: bytes) -> Iterator[dict[str, Any]]:
    for event in received.split(b"\n\n")[:-1]:
        *others, data = event.split(b"\n")
        message = msgspec.json.decode(data.removeprefix(b"data: "))
        assert b"event: " + message["type"].encode() in others
        if "cursor" in message:
            assert b"id: " + message["cursor"].encode() in others
        yield message


ENCODINGS: dict[str, tuple[Any, Decode]] = {
    "json": (JSON, from_json),
    "msgpack": (MESSAGEPACK, from_messagepack),
    "delta": (DELTA, from_deltas),
    "events": (ServerSentEventsEncoding(), from_events),
}


class Dump:
    """The output of `slpstream dump` for a finished replay."""

    def __init__(self, path: Path) -> None:
        self._logs: dict[FramesMode, list[LogMessage]] = {mode: list(messages(path, frames=mode)) for mode in MODES}
        self.lines = {mode: [message.json(STATION) for message in log] for mode, log in self._logs.items()}
        self._decoded = {mode: [msgspec.json.decode(line) for line in lines] for mode, lines in self.lines.items()}

    def cursors(self, mode: FramesMode, through: Position) -> list[str]:
        """The cursors of all messages up to a position."""
        return [str(message.cursor) for message in self._logs[mode] if message.position <= through]

    def expected(self, request: dict[str, Any], after: Position, through: Position) -> list[dict[str, Any]]:
        """The messages for a subscription that began after a position."""
        mode: FramesMode = request["frames"]
        found = []
        for message, decoded in zip(self._logs[mode], self._decoded[mode], strict=True):
            if not after < message.position <= through or TOPIC_OF_TYPE[message.type] not in request["topics"]:
                continue
            if message.type == "frame":
                if "rate" in request and decoded["frame"]["frame"] % 3:  # 20 of 60 frames a second
                    continue
                if "fields" in request:
                    found.append({**decoded, "frame": cut_entry(decoded["frame"], request["fields"])})
                    continue
            found.append(decoded)
        return found

    def newest(self, kind: str, mode: FramesMode, through: Position) -> Any:
        """The payload of the newest message of a type up to a position, or `None`."""
        pairs = zip(self._logs[mode], self._decoded[mode], strict=True)
        found = [decoded for message, decoded in pairs if message.type == kind and message.position <= through]
        return found[-1][kind] if found else None


class Watcher:
    """A subscriber with a random subscription."""

    def __init__(self, chance: random.Random, dump: Dump, game: Game | None) -> None:
        self._encoding, self._decode = ENCODINGS[chance.choice(list(ENCODINGS))]
        mode: FramesMode = chance.choice(MODES)
        topics = list(TOPICS) if chance.random() < 0.5 else chance.sample(TOPICS, chance.randint(1, 3))
        self.request: dict[str, Any] = {"frames": mode, "topics": topics}
        fields = chance.choice(FIELDS)
        if fields is not None:
            self.request["fields"] = fields
        if chance.random() < 0.2:
            self.request["rate"] = 20
        self._chance = chance
        self._dump = dump
        self._head = START if game is None else game.logs[mode].head
        self._after = self._head
        is_lossless = chance.random() < 0.5
        if is_lossless:
            self.request["delivery"] = "lossless"
            cursors = [] if game is None else dump.cursors(mode, self._head)
            cursor = chance.choice(["live", "start", chance.choice(cursors)] if cursors else ["live", "start"])
            self.request["cursor"] = cursor
            if cursor == "start":
                self._after = START
            elif cursor != "live":
                offset, _, count = cursor.rpartition("/")[2][1:].partition(".")
                self._after = Position(int(offset), int(count))
        # A conflating subscriber whose socket is full would miss messages.
        self.client = Client(
            room=chance.choice((0, 5000, None)) if is_lossless else None,
            limit_bytes=chance.choice((1, 3000, 100_000)) if is_lossless else 1 << 24,
            encoding=self._encoding,
        )
        self._scope = trio.CancelScope()

    async def run(self, hub: Hub) -> None:
        request = {**self.request, "fields": list(self.request["fields"])} if "fields" in self.request else self.request
        with self._scope:
            async with self.client.subscribed(hub, subscription(**request)):
                await trio.sleep_forever()

    def act(self) -> None:
        self.client.allow(self._chance.choice((0, 100, 3000, 50_000)))

    async def leave(self, head: Position, *, abruptly: bool) -> None:
        """Leave and check the received messages up to `head`. After an abrupt end the last ones can be missing."""
        if not abruptly:
            self.client.allow(None)
            await settle()
        self._scope.cancel()
        await settle()
        assert self.client.error is None
        received = list(self._decode(bytes(self.client.received)))
        log = [message for message in received if message["type"] in TOPIC_OF_TYPE]
        expected = self._dump.expected(self.request, self._after, head)
        shared = expected[: len(log)] if abruptly else expected
        wrong = next((i for i, pair in enumerate(zip(log, shared, strict=False)) if pair[0] != pair[1]), None)
        assert wrong is None, f"{self.request}: {log[wrong]} is not {shared[wrong]}"
        assert len(log) == len(shared), f"{self.request} after {self._after}: {len(log)} of {len(shared)} messages"
        if self._encoding is JSON and "fields" not in self.request:
            payloads = websocket_payloads(bytes(self.client.received))
            pairs = zip(payloads, received, strict=True)
            own = [payload for payload, message in pairs if message["type"] in TOPIC_OF_TYPE]
            assert set(own) <= set(self._dump.lines[self.request["frames"]]), "the same bytes"
        for snapshot in (message for message in received if message["type"] == "snapshot"):
            assert snapshot.get("frame") == self._dump.newest("frame", self.request["frames"], self._head)
            if self.request["frames"] == "live":
                assert snapshot.get("stats") == self._dump.newest("stats", "live", self._head)


class Played:
    """A game that is written to a file in pieces, and published like in the daemon."""

    def __init__(self, path: Path, data: bytes, channel: Channel, *, ring_bytes: int) -> None:
        self.game: Game | None = None
        self._path = path
        self._data = data
        self._channel = channel
        self._ring_bytes = ring_bytes
        self._pipeline = Pipeline(SlippiReader(), MODES)
        self._written = 0
        path.write_bytes(b"")

    @property
    def is_over(self) -> bool:
        return self._written == len(self._data)

    def write(self, count: int) -> None:
        """Write the next bytes; while the game runs, the raw length is 0."""
        running = self._data[: HEADER_BYTES - 4] + bytes(4) + self._data[HEADER_BYTES:]
        piece = running[self._written : self._written + count]
        with self._path.open("ab") as file:
            file.write(piece)
        self._written += len(piece)
        self._publish(self._pipeline.feed(piece))
        if self.is_over:
            self._path.write_bytes(self._data)
            self._publish(self._pipeline.rewrite(self._data[:HEADER_BYTES]))

    def head(self, mode: FramesMode) -> Position:
        return START if self.game is None else self.game.logs[mode].head

    def _publish(self, batch: Batch) -> None:
        if batch.start is not None:
            reader = GrowingLogReader(
                lambda: self._path, lambda: self._written, batch.start.game_id, trio.CapacityLimiter(1)
            )
            order = self._channel.next_order()
            self.game = Game(batch.start.game_id, reader, ring_bytes=self._ring_bytes, order=order)
            self._channel.begin(self.game)
        if self.game is not None:
            self._channel.publish(self.game, batch.logs)
            if isinstance(self.game.log_reader, GrowingLogReader):
                self.game.log_reader.keep(self._pipeline)


async def schedule(path: Path, data: bytes, seed: str) -> None:
    """Play a game once, with subscribers that join and leave."""
    chance = random.Random(seed)
    path.write_bytes(data)
    dump = Dump(path)

    async def locate(game_id: str) -> None:
        raise AssertionError(f"{game_id} is known")

    channel = Channel(STATION, locate)
    channel.settled = True
    hub = Hub()
    hub.add(channel)
    played = Played(path, data, channel, ring_bytes=chance.choice((1, 20_000, 1 << 22)))
    watchers: list[Watcher] = []
    often = 60_000 / len(data)
    async with trio.open_nursery() as nursery:
        while not played.is_over:
            if len(watchers) < MAX_SUBSCRIBERS and chance.random() < often:
                watchers.append(Watcher(chance, dump, played.game))
                nursery.start_soon(watchers[-1].run, hub)
                await settle()
            played.write(chance.choice((1, 100, 700, 700, 5000, 30_000)))
            for watcher in watchers:
                watcher.act()
            await settle()
            if watchers and chance.random() < often:
                watcher = watchers.pop(chance.randrange(len(watchers)))
                head = played.head(watcher.request["frames"])
                await watcher.leave(head, abruptly=chance.random() < 0.3)
        for watcher in watchers:
            await watcher.leave(played.head(watcher.request["frames"]), abruptly=False)
    assert channel.subscribers == 0


async def run_in_this_thread(function: Callable[..., Any], *arguments: Any, limiter: trio.CapacityLimiter) -> Any:
    """Stands in for `trio.to_thread.run_sync`, so that nothing depends on the speed of threads."""
    await trio.lowlevel.checkpoint()
    return function(*arguments)


@pytest.fixture(params=["kernel", "python"])
def play(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Plays a game with several seeds."""
    if request.param == "python":
        monkeypatch.setattr(packed_frame, "kernel", None)
    elif room.kernel is None:
        pytest.skip("the kernel is not built, or turned off by SLPSTREAM_PURE=1")
    monkeypatch.setattr(trio.to_thread, "run_sync", run_in_this_thread)
    monkeypatch.setattr(log_reader, "SLICE_BYTES", 8192)

    def run(data: bytes) -> None:
        for seed in range(SEEDS):
            trio.run(schedule, tmp_path / "Game.slp", data, f"{request.node.name} {seed}")

    return run


@pytest.mark.parametrize("name", GAMES)
def test_subscribers_receive_the_messages_of_dump(name: str, play: Callable[[bytes], None]) -> None:
    play(replay(name))
