"""Logs without a reader are written later and together, and each new reader finds them complete."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.station.station import Station
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_reader import MODES
from slpstream.game.pipeline import MAX_UNWRITTEN_EVENTS, Pipeline
from slpstream.model.messages import FramesMode
from slpstream.stream import LogConsumer
from slpstream.stream.subscription import Start
from slpstream.system.metrics import Metrics
from tests.daemons.station import running_station, until
from tests.synthetic.match import synthetic_match

HEADER_BYTES = 15
FRAMES = 600
LONG_SECONDS = 3600.0


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what pipelines were fed; stations do not publish by time."""
    monkeypatch.setattr("slpstream.daemon.station.station._TICK_SECONDS", LONG_SECONDS)
    sizes_bytes: list[int] = []
    feed = Pipeline.feed

    def recording_feed(self: Pipeline, data: bytes, *unread: frozenset[FramesMode]) -> object:
        sizes_bytes.append(len(data))
        return feed(self, data, *unread)

    monkeypatch.setattr(Pipeline, "feed", recording_feed)
    return sizes_bytes


@pytest.fixture
def game() -> bytes:
    return synthetic_match(seed=4, frames=FRAMES, rollbacks=True)


class Written:
    """A game that is written piece by piece into the folder of a station."""

    def __init__(self, folder: Path, whole: bytes) -> None:
        self.path = folder / "Game_1.slp"
        self._running = whole[: HEADER_BYTES - 4] + bytes(4) + whole[HEADER_BYTES:]
        self._whole = whole
        self.size_bytes = 0

    async def write(self, station: Station, count: int) -> None:
        """Append bytes, and wait until the station has read them."""
        with self.path.open("ab", buffering=0) as file:
            file.write(self._running[self.size_bytes : self.size_bytes + count])
        self.size_bytes = self.path.stat().st_size
        await until(lambda: any(f.read_bytes == self.size_bytes for f in station._followed.values()))

    async def end(self, station: Station) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(self._running[self.size_bytes :])
        with self.path.open("r+b", buffering=0) as file:
            file.write(self._whole[:HEADER_BYTES])
        await until(lambda: station.state == "idle")


@asynccontextmanager
async def consumed(station: Station, mode: FramesMode, start: Start = "start") -> AsyncIterator[list[str]]:
    """The lines that an output receives, from the first message of the game or from now on."""
    received: list[str] = []

    async def consume() -> None:
        async for batch in LogConsumer(station.channel, frames=mode, start=start):
            received.extend(message.json().decode() for message in batch.messages)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        yield received
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


def is_longer(received: list[str], count: int) -> bool:
    return len(received) > count


@pytest.mark.trio
async def test_unread_game_is_taken_together(tmp_path: Path, game: bytes, fed: list[int]) -> None:
    async with running_station(tmp_path) as station:
        written = Written(tmp_path, game)
        await written.write(station, 4000)
        until_start = len(fed)
        for _ in range(20):
            await written.write(station, 800)
        assert len(fed) == until_start
        assert station.describe()["game"]["lastFrame"] > -123
        assert fed[until_start:] == [16_000]


@pytest.mark.trio
async def test_unread_bytes_are_limited(tmp_path: Path, game: bytes, fed: list[int]) -> None:
    async with running_station(tmp_path) as station:
        written = Written(tmp_path, game)
        await written.write(station, 4000)
        for _ in range(10):
            await written.write(station, 30_000)
        assert max(fed) <= 1 << 16
        assert sum(fed) >= written.size_bytes - (1 << 16)


@pytest.mark.trio
async def test_unread_game_is_published_by_the_clock(tmp_path: Path, game: bytes) -> None:
    async with running_station(tmp_path) as station:
        written = Written(tmp_path, game)
        await written.write(station, 20_000)
        shown = station.channel.current
        assert shown is not None
        await until(lambda: shown.newest_frame_number is not None and shown.newest_frame_number > -123)


@pytest.mark.trio
async def test_unread_frames_are_counted_without_a_delay(tmp_path: Path, game: bytes) -> None:
    metrics = Metrics()

    def value(name: str) -> float:
        return metrics._registry.get_sample_value(name, {"station": "setup"}) or 0.0

    async with running_station(tmp_path, metrics=metrics) as station:
        written = Written(tmp_path, game)
        await written.write(station, 4000)
        await until(lambda: value("slpstream_frames_total") > 0)
        delays, frames = value("slpstream_append_to_publish_seconds_count"), value("slpstream_frames_total")
        await written.write(station, 20_000)
        await until(lambda: value("slpstream_frames_total") > frames)
        assert value("slpstream_append_to_publish_seconds_count") == delays


@pytest.mark.slow
@pytest.mark.trio
@pytest.mark.parametrize("seed", range(4))
async def test_each_reader_finds_what_dump_has(tmp_path: Path, game: bytes, seed: int) -> None:
    chance = random.Random(seed)
    whole = tmp_path / "whole.slp"
    whole.write_bytes(game)
    folder = tmp_path / "station"
    folder.mkdir()
    dump = {mode: [message.json().decode() for message in messages(whole, frames=mode)] for mode in MODES}
    async with running_station(folder) as station:
        written = Written(folder, game)
        await written.write(station, 4000)
        while written.size_bytes < 150_000:
            for _ in range(chance.randrange(5)):
                await written.write(station, chance.choice((300, 3000, 9000)))
            mode = chance.choice(MODES)
            async with consumed(station, mode) as received:
                await trio.testing.wait_all_tasks_blocked()
                assert received == dump[mode][: len(received)]
                count = len(received)
                await written.write(station, 9000)
                await until(partial(is_longer, received, count))
            assert received == dump[mode][: len(received)]
        await written.end(station)
        for mode in MODES:
            async with consumed(station, mode) as received:
                await until(partial(is_longer, received, len(dump[mode]) - 1))
            assert received == dump[mode]


@pytest.mark.trio
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("fed")
async def test_live_reader_begins_at_the_head(tmp_path: Path, game: bytes, mode: FramesMode) -> None:
    async with running_station(tmp_path) as station:
        written = Written(tmp_path, game)
        await written.write(station, 4000)
        await written.write(station, 20_000)
        pipeline = Pipeline(SlippiReader(), MODES)
        pipeline.feed(game[: written.size_bytes])
        async with consumed(station, mode, "live") as received:
            assert received == []
            await written.write(station, 5000)
            expected = [message.json().decode() for message in pipeline.feed(game[24_000:29_000]).logs[mode]]
            await until(partial(is_longer, received, len(expected) - 1))
        assert received == expected


@pytest.mark.parametrize("seed", range(20))
def test_unread_logs_are_the_same_logs(game: bytes, seed: int) -> None:
    chance = random.Random(seed)
    expected = Pipeline(SlippiReader(), MODES).feed(game).logs
    pipeline = Pipeline(SlippiReader(), MODES)
    logs: dict[FramesMode, list[str]] = {mode: [] for mode in MODES}
    at = 0
    while at < len(game):
        count = chance.choice((1, 100, 1000, 20_000))
        unread = frozenset(mode for mode in MODES if chance.random() < 0.7)
        if chance.random() < 0.1:
            pipeline = pipeline.copy()
        batches = [pipeline.feed(game[at : at + count], unread)]
        if chance.random() < 0.1:
            batches.append(pipeline.settle())
        for batch in batches:
            for mode in MODES:
                logs[mode] += [message.json().decode() for message in batch.logs[mode]]
        at += count
    for mode, messages_ in pipeline.settle().logs.items():
        logs[mode] += [message.json().decode() for message in messages_]
    assert logs == {mode: [message.json().decode() for message in log] for mode, log in expected.items()}


def test_unread_messages_do_not_wait_for_ever(game: bytes) -> None:
    pipeline = Pipeline(SlippiReader(), MODES)
    waiting = 0
    for at in range(0, len(game), 500):
        batch = pipeline.feed(game[at : at + 500], frozenset(MODES))
        waiting = 0 if any(batch.logs.values()) else waiting + len(batch.events)
        assert waiting <= MAX_UNWRITTEN_EVENTS
