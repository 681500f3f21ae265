"""Random schedules of all events between a game and its subscribers.

A lossless subscriber gets each message exactly once, in order. A conflating one loses only droppable messages,
and their number is reported.

Games are written in pieces, sockets take a few bytes at a time or none, connections break and resume with the last
cursor, and rings and outboxes are so small that nearly all messages are read back. A schedule continues after a random
number of turns of the event loop, so tasks are interrupted at any checkpoint. A schedule depends only on its seed;
`SLPSTREAM_EXAMPLES` is the number of seeds.
"""

from __future__ import annotations

import os
import random

import msgspec
import pytest
import trio

from slpstream.model.errors import TooSlow
from slpstream.model.messages import DROPPABLE_TYPES, FramesMode
from slpstream.stream.channel import Hub
from slpstream.stream.game import Game
from tests.stream.deltas import DeltaClient
from tests.stream.fakes import Client, FakeLog, FakeStation, hub_of, lines, settle, subscription, turns

EXAMPLES = int(os.environ.get("SLPSTREAM_EXAMPLES", "150"))
SEEDS_PER_TEST = 25
pytestmark = pytest.mark.usefixtures("each_way")
CLIENTS: tuple[type[Client], ...] = (Client, DeltaClient)
"""Clients that receive whole messages or deltas, decoded to the same lines."""


def seed_ranges() -> list[range]:
    return [range(first, first + SEEDS_PER_TEST) for first in range(0, EXAMPLES, SEEDS_PER_TEST)]


class Reader:
    """A lossless client that reconnects with its last cursor whenever its connection breaks."""

    def __init__(self, chance: random.Random, hub: Hub, nursery: trio.Nursery, mode: FramesMode, cursor: str) -> None:
        self.lines: list[bytes] = []
        self.mode = mode
        self._chance = chance
        self._hub = hub
        self._nursery = nursery
        self._cursor = cursor
        self._limit_bytes = chance.choice((1, 200, 1500, 6000))
        self._client_class = chance.choice(CLIENTS)
        self._client: Client | None = None
        self._scope = trio.CancelScope()

    def connect(self) -> None:
        room = self._chance.choice((0, 100, None))
        self._client = client = self._client_class(room=room, limit_bytes=self._limit_bytes)
        self._scope = scope = trio.CancelScope()
        cursor = self._cursor

        async def run() -> None:
            request = subscription(delivery="lossless", cursor=cursor, frames=self.mode)
            with scope:
                async with client.subscribed(self._hub, request):
                    await trio.sleep_forever()

        self._nursery.start_soon(run)

    def break_connection(self) -> None:
        """Disconnect, usually in the middle of a message; an incomplete message is lost."""
        self._scope.cancel()
        if self._client is not None:
            assert self._client.error is None
            self.lines += self._client.log
            if self.lines:
                self._cursor = msgspec.json.decode(self.lines[-1])["cursor"]
        self._client = None

    def act(self) -> None:
        if self._client is None:
            self.connect()
        elif self._chance.random() < 0.15 and (self._client.log or self._cursor != "start"):
            self.break_connection()
        elif self._chance.random() < 0.3:
            self._client.room = 0
        else:
            self._client.allow(self._chance.choice((1, 7, 60, 700, 5000)))

    def finish(self) -> None:
        """Take all further data."""
        if self._client is None:
            self.connect()
        assert self._client is not None
        self._client.allow(None)


async def lossless_schedule(seed: int, known_games: int) -> None:
    """Play games with random interruptions. The station drops its oldest games beyond `known_games`."""
    chance = random.Random(f"lossless {seed} {known_games}")
    station = FakeStation(ring_bytes=chance.choice((1, 1500, 5000, 1 << 20)), kept_games=chance.choice((1, 2)))
    max_games, max_batches = (4, 25) if known_games > 4 else (12, 6)
    logs = [FakeLog(n, batches=chance.randint(0, max_batches), seed=seed) for n in range(chance.randint(1, max_games))]
    old = logs[: chance.randint(0, len(logs) - 1)]
    station.archived(*old)
    async with trio.open_nursery() as nursery:
        hub = hub_of(station)
        readers: list[Reader] = []
        for _ in range(chance.randint(1, 3)):
            mode: FramesMode = chance.choice(("live", "finalized"))
            # The client connects before the first game, or later with a cursor of the oldest archived game.
            cursor = str(logs[0].whole(mode)[0].cursor) if old else "start"
            readers.append(Reader(chance, hub, nursery, mode, cursor))
            if not old:
                readers[-1].connect()
        await settle()
        games = [log for log in logs if log not in old]
        while games:
            station.channel.drop_oldest(())
            game = station.begin(games.pop(0), catching_up=chance.random() < 0.3)
            unfinished = True
            while unfinished:
                if chance.random() < 0.5:
                    unfinished = station.write(game, chance.choice((1, 1, 2, 8)))
                if game.catching_up and chance.random() < 0.2:
                    station.channel.caught_up(game)
                for reader in readers:
                    if chance.random() < 0.7:
                        reader.act()
                    await turns(chance)
            if game.catching_up:
                station.channel.caught_up(game)
        for reader in readers:
            reader.finish()
        await settle()
        for reader in readers:
            reader.break_connection()
            expected = [line for log in logs for line in lines(log, mode=reader.mode)][1 if old else 0 :]
            pairs = enumerate(zip(reader.lines, expected, strict=False))
            wrong = next((index for index, (line, expected_line) in pairs if line != expected_line), None)
            assert wrong is None, f"seed {seed}, line {wrong}: {reader.lines[wrong]!r} is not {expected[wrong]!r}"
            assert len(reader.lines) == len(expected), f"seed {seed}"
        nursery.cancel_scope.cancel()
    assert station.channel.subscribers == 0


@pytest.mark.parametrize("known_games", [16, 2])
@pytest.mark.parametrize("seeds", seed_ranges(), ids=str)
def test_lossless_delivers_each_message_once(seeds: range, known_games: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.channel.KNOWN_GAMES", known_games)
    for seed in seeds:
        trio.run(lossless_schedule, seed, known_games)


async def overlapping_schedule(seed: int) -> None:
    """Write several games at several stations at the same time, over one connection that never breaks."""
    chance = random.Random(f"overlapping {seed}")
    stations = [FakeStation(name, ring_bytes=chance.choice((1, 2000, 1 << 20))) for name in ("left", "right")]
    async with chance.choice(CLIENTS)(room=0, limit_bytes=chance.choice((1, 300, 3000))).subscribed(
        hub_of(*stations), subscription(delivery="lossless", cursor="start")
    ) as client:
        running: list[tuple[FakeStation, Game]] = []
        logs: list[tuple[FakeStation, FakeLog]] = []
        to_begin = [(chance.choice(stations), FakeLog(n, batches=chance.randint(0, 20), seed=seed)) for n in range(5)]
        while running or to_begin:
            if to_begin and (not running or chance.random() < 0.1):
                station, log = to_begin.pop()
                running.append((station, station.begin(log, catching_up=chance.random() < 0.3)))
                logs.append((station, log))
            station, game = chance.choice(running)
            if not station.write(game, chance.randint(1, 3)):
                running.remove((station, game))
            if game.catching_up and (chance.random() < 0.2 or (station, game) not in running):
                station.channel.caught_up(game)
            client.allow(chance.choice((0, 1, 50, 2000)))
            await turns(chance)
        client.allow(None)
        await settle()
        assert client.error is None
        for station, log in logs:
            received = [line for line in client.log if log.game_id.encode() in line]
            assert received == lines(log, station.channel.station), f"seed {seed}"


@pytest.mark.parametrize("seeds", seed_ranges(), ids=str)
def test_overlapping_games_in_several_stations(seeds: range) -> None:
    for seed in seeds:
        trio.run(overlapping_schedule, seed)


async def conflating_schedule(seed: int) -> None:
    chance = random.Random(f"conflating {seed}")
    station = FakeStation(ring_bytes=chance.choice((1, 1 << 20)))
    client = chance.choice(CLIENTS)(room=0, limit_bytes=chance.choice((400, 2000, 8000)))
    logs = [FakeLog(n, batches=chance.randint(0, 40), seed=seed) for n in range(3)]
    async with client.subscribed(hub_of(station), subscription()):
        for log in logs:
            game = station.begin(log)
            while station.write(game, chance.choice((1, 1, 3))):
                client.allow(chance.choice((0, 1, 30, 400, 3000)))
                await turns(chance)
        client.allow(None)
        await settle()
    whole = [line for log in logs for line in lines(log)]
    missed = sum(message["missed"] for message in client.of_type("lagged"))
    indexes = [whole.index(line) for line in client.log]
    assert indexes == sorted(set(indexes)), f"seed {seed}: in order, and no message twice"
    kinds = [msgspec.json.decode(line)["type"] for line in whole]
    kept = [index for index in indexes if kinds[index] not in DROPPABLE_TYPES]
    required = [index for index, kind in enumerate(kinds) if kind not in DROPPABLE_TYPES]
    if client.error is not None:
        assert isinstance(client.error, TooSlow)
        assert kept == required[: len(kept)], f"seed {seed}: no gap"
        return
    assert kept == required, f"seed {seed}"
    assert missed == len(whole) - len(indexes), f"seed {seed}"


@pytest.mark.parametrize("seeds", seed_ranges(), ids=str)
def test_conflation_loses_only_droppable_messages(seeds: range) -> None:
    for seed in seeds:
        trio.run(conflating_schedule, seed)


@pytest.mark.trio
@pytest.mark.parametrize("limit_bytes", [350, 450, 600])
async def test_delayed_snapshot_is_not_overtaken(limit_bytes: int) -> None:
    for seed in range(6):
        log, station = FakeLog(1, batches=40, seed=seed, ended=False), FakeStation()
        hub, game = hub_of(station), station.begin(log)
        station.write(game, 10)
        client = Client(room=0, limit_bytes=limit_bytes)
        async with client.subscribed(hub, subscription(delivery="lossless", cursor="live")):
            for _ in range(6):
                station.write(game, 1)
                await settle()
            client.allow(None)
            await settle()
            station.write_all(game)
            await settle()
        snapshot, *others = client.messages
        assert snapshot["type"] == "snapshot"
        cursors = [message.cursor for message in log.whole()]
        assert [message["cursor"] for message in others] == cursors[cursors.index(snapshot["cursor"]) + 1 :]
