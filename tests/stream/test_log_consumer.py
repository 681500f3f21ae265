"""A log consumer gets each message exactly once, in order, at its own pace, and resumes from stored offsets.

The schedules are random, as for subscribers: rings are so small that nearly all messages are read back, and consumers
stop at any checkpoint and resume with their stored offsets.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import START, FramesMode, LogMessage
from slpstream.model.topics import TOPICS, Topic
from slpstream.stream.game import Game
from slpstream.stream.log_consumer import ConsumedBatch, ConsumerOffsets, LogConsumer
from tests.stream.fakes import FakeLog, FakeStation, settle, turns

SCHEDULES = 40


class StoringConsumer:
    """A restartable owner of a `LogConsumer` that stores messages and offsets together, like the outputs."""

    def __init__(
        self, station: FakeStation, mode: FramesMode = "live", topics: frozenset[Topic] = frozenset(TOPICS)
    ) -> None:
        self.messages: list[LogMessage] = []
        self.gone: list[tuple[str, str]] = []
        self.stored = "[]"
        self.pace: random.Random | None = None
        self._station = station
        self._mode: FramesMode = mode
        self._topics = topics
        self._scope: trio.CancelScope | None = None

    @property
    def running(self) -> bool:
        return self._scope is not None

    @asynccontextmanager
    async def consuming(self) -> AsyncIterator[None]:
        """Consume inside the `async with` block, and at its end all remaining messages."""
        async with trio.open_nursery() as nursery:
            self.start(nursery)
            yield
            await settle()
            nursery.cancel_scope.cancel()

    def start(self, nursery: trio.Nursery) -> None:
        self._scope = trio.CancelScope()
        nursery.start_soon(self._run, self._scope)

    def stop(self) -> None:
        assert self._scope is not None
        self._scope.cancel()

    async def _run(self, scope: trio.CancelScope) -> None:
        with scope:
            await self._consume()
        self._scope = None  # only now: a cancelled task can store one more batch before its next checkpoint

    async def _consume(self) -> None:
        offsets = ConsumerOffsets.parse(self.stored)
        consumer = LogConsumer(self._station.channel, frames=self._mode, offsets=offsets.offsets, topics=self._topics)
        async for batch in consumer:
            for _ in range(0 if self.pace is None else self.pace.randint(0, 6)):
                await trio.lowlevel.checkpoint()  # a batch that is not stored yet is consumed again after a stop
            offsets.note(batch)
            self.messages += batch.messages
            if batch.gone is not None:
                self.gone.append((batch.game_id, batch.gone))
            self.stored = offsets.dump()

    def of(self, log: FakeLog) -> list[bytes]:
        return [m.json() for m in self.messages if m.game_id == log.game_id]


async def consumer_after(ended: FakeLog, running: FakeLog, station: FakeStation) -> StoringConsumer:
    """A consumer of `station` with the offsets of a run in which one game ended and another had begun."""
    before = FakeStation()
    first, second = StoringConsumer(before), StoringConsumer(station)
    async with first.consuming():
        await settle()
        before.play(ended)
        before.write(before.begin(running), 5)
    second.messages += [message for message in first.messages if message.game_id == running.game_id]
    second.stored = first.stored
    return second


def whole(log: FakeLog, mode: FramesMode = "live") -> list[bytes]:
    return [message.json() for message in log.whole(mode)]


async def schedule(seed: int) -> None:
    chance = random.Random(f"consumer {seed}")
    station = FakeStation(ring_bytes=chance.choice((1, 1500, 5000, 1 << 20)), kept_games=chance.choice((1, 2)))
    logs = [FakeLog(n, batches=chance.randint(0, 25), seed=seed) for n in range(chance.randint(1, 4))]
    mode: FramesMode = chance.choice(("live", "finalized"))
    consumer = StoringConsumer(station, mode)
    consumer.pace = chance
    async with trio.open_nursery() as nursery:
        consumer.start(nursery)
        await settle()
        waiting, games = list(logs), list[Game]()
        while waiting or games:
            if waiting and (not games or chance.random() < 0.1):
                station.channel.drop_oldest(set(games))
                games.append(station.begin(waiting.pop(0), catching_up=chance.random() < 0.3))
                station.write(games[-1])  # the station knows a game once it has a message
            game = chance.choice(games)  # several in parallel
            unfinished = station.write(game, chance.choice((1, 1, 2, 8)))
            if game.catching_up and (not unfinished or chance.random() < 0.2):
                station.channel.caught_up(game)
            if not unfinished:
                games.remove(game)
            await turns(chance)
            if not consumer.running:
                consumer.start(nursery)
            elif chance.random() < 0.2 and len(consumer.messages):
                consumer.stop()
        await settle()
        if not consumer.running:
            consumer.start(nursery)
        await settle()
        assert all(consumer.of(log) == whole(log, mode) for log in logs)
        assert not consumer.gone
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("first", range(0, SCHEDULES, 10))
def test_each_message_is_consumed_once_in_order(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.channel.KNOWN_GAMES", 1 if first % 20 else 16)
    for seed in range(first, first + 10):
        trio.run(schedule, seed, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.trio
async def test_games_played_during_a_pause_are_consumed(autojump_clock: trio.testing.MockClock) -> None:
    logs = [FakeLog(n) for n in range(5)]
    after = FakeStation()
    second = await consumer_after(logs[0], logs[1], after)
    after.archived(*logs[:4])
    async with second.consuming():
        await settle()
        after.play(logs[4])
    assert not second.of(logs[0])
    assert all(second.of(log) == whole(log) for log in logs[1:])
    assert not second.gone


@pytest.mark.trio
async def test_missing_game_falls_back_to_the_offset_before_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    logs = [FakeLog(n) for n in range(3)]
    after = FakeStation()
    second = await consumer_after(logs[0], logs[1], after)
    after.archived(logs[0], logs[2])
    async with second.consuming():
        pass
    assert second.gone == [(logs[1].game_id, f"no such game: {logs[1].game_id}")]
    assert not second.of(logs[0])
    assert second.of(logs[2]) == whole(logs[2])


@pytest.mark.trio
async def test_game_played_during_another_one_is_consumed() -> None:
    ended, running, meanwhile = (FakeLog(n) for n in range(3))
    after = FakeStation()
    second = await consumer_after(ended, running, after)
    after.channel.settled = False
    async with second.consuming():
        # All files are recent, so they are read again, and two of the games prove to have ended.
        games = [after.begin(log, catching_up=True) for log in (running, ended, meanwhile)]
        after.write(games[0], 7)
        for game, mtime_ns in ((games[1], 1), (games[2], 3)):
            after.write_all(game)
            after.channel.retire(game, mtime_ns, "")
        for game in games:
            after.channel.caught_up(game)
        after.channel.settled = True
        after.channel.notify()
        await settle()
        after.write_all(games[0])
    assert not second.of(ended)
    assert second.of(running) == whole(running)
    assert second.of(meanwhile) == whole(meanwhile)
    assert not second.gone


@pytest.mark.trio
async def test_unknown_offsets_begin_with_the_current_game(autojump_clock: trio.testing.MockClock) -> None:
    station, log = FakeStation(), FakeLog(1)
    consumer = StoringConsumer(station)
    consumer.stored = f'[["{FakeLog(9).whole()[0].cursor}",false]]'
    game = station.begin(log)
    station.write(game, 5)
    async with consumer.consuming():
        station.write_all(game)
    assert [game_id for game_id, _ in consumer.gone] == [FakeLog(9).game_id]
    assert consumer.of(log) == whole(log)


@pytest.mark.trio
async def test_live_start_begins_with_the_next_message() -> None:
    station, log = FakeStation(ring_bytes=1 << 20), FakeLog(1)
    game = station.begin(log)
    station.write(game, 5)
    known = len(game.logs["live"].since(START) or ())
    consumed: list[LogMessage] = []

    async def consume() -> None:
        async for batch in LogConsumer(station.channel, start="live"):
            consumed.extend(batch.messages)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await settle()
        station.write_all(game)
        await settle()
        nursery.cancel_scope.cancel()
    assert known
    assert [m.json() for m in consumed] == whole(log)[known:]


@pytest.mark.trio
async def test_only_requested_topics_are_consumed() -> None:
    station, log = FakeStation(ring_bytes=1), FakeLog(1)
    consumer = StoringConsumer(station, topics=frozenset({"game"}))
    async with consumer.consuming():
        station.play(log)
    assert consumer.of(log) == [m.json() for m in log.whole() if m.topic == "game"]
    assert ConsumerOffsets.parse(consumer.stored).offsets[0].over == (log.whole()[-1].type == "metadata")


@pytest.mark.trio
async def test_unreadable_log_is_retried_then_skipped(autojump_clock: trio.testing.MockClock) -> None:
    station, log = FakeStation(ring_bytes=1), FakeLog(1)
    consumer = StoringConsumer(station)
    game = station.begin(log)
    station.write(game, 5)
    file = station.files[log.game_id]
    file.gone = True
    async with consumer.consuming():
        await trio.sleep(10)
        assert not consumer.gone
        file.gone = False
        await trio.sleep(10)
        read = len(consumer.messages)
        assert read
        assert not consumer.gone
        file.gone = True
        station.write_all(game)
        await trio.sleep(60)
    assert [game_id for game_id, _ in consumer.gone] == [log.game_id]
    assert consumer.of(log) == [*whole(log)[:read], whole(log)[-1]]  # the ring keeps one message


@pytest.mark.trio
async def test_lost_file_is_reported_once() -> None:
    station, log = FakeStation(), FakeLog(1)
    consumer = StoringConsumer(station)
    async with consumer.consuming():
        game = station.begin(log)
        station.write(game, 5)
        game.lose()
        station.channel.notify()
        await settle()
        station.channel.notify()
    assert consumer.gone == [(log.game_id, "the file was lost")]
    assert consumer.messages
    assert ConsumerOffsets.parse(consumer.stored).offsets[0].over


def test_offsets_are_limited_and_round_trip_through_text() -> None:
    offsets = ConsumerOffsets()
    logs = [FakeLog(n) for n in range(40)]
    for log in logs:
        offsets.note(ConsumedBatch(log.game_id, log.whole()))
    assert [offset.cursor.game_id for offset in offsets.offsets] == [log.game_id for log in logs[-16:]]
    assert all(offset.over for offset in offsets.offsets[:-1])
    assert ConsumerOffsets.parse(offsets.dump()).offsets == offsets.offsets


def test_game_with_a_returning_file_is_not_over() -> None:
    offsets, log = ConsumerOffsets(), FakeLog(1).whole()
    game_id = FakeLog(1).game_id
    over: list[bool] = []
    for batch in (
        ConsumedBatch(game_id, log[:3]),
        ConsumedBatch(game_id, (), "the file was lost"),
        ConsumedBatch(game_id, log[3:5]),
        ConsumedBatch(game_id, log[5:]),
        ConsumedBatch(game_id, (), "the file was lost"),
    ):
        offsets.note(batch)
        over.append(offsets.offsets[0].over)
    assert over == [False, True, False, True, True]


@pytest.mark.parametrize("text", ["", "{}", '["x"]', '[["x",true]]'])
def test_invalid_offsets_text_is_refused(text: str) -> None:
    with pytest.raises((msgspec.DecodeError, ProtocolViolation)):
        ConsumerOffsets.parse(text)
