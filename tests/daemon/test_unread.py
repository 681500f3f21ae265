"""Bytes without a reader are decoded later, many together, and each new reader finds the log complete."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from slpstream.api import messages
from slpstream.daemon.station.context import Timing
from slpstream.daemon.station.station import Station
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import FramesMode
from slpstream.stream.log_consumer import LogConsumer
from slpstream.stream.subscription import Start
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import Metrics
from tests.daemons.played_game import PlayedGame
from tests.daemons.station import running_station, until
from tests.synthetic.match import synthetic_match

NO_TICKS = Timing(tick_seconds=3600.0)
"""Disable the timed publishing of stations."""


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of bytes that pipelines were fed."""
    sizes_bytes: list[int] = []
    feed = Pipeline.feed

    def recording_feed(self: Pipeline, data: bytes) -> object:
        sizes_bytes.append(len(data))
        return feed(self, data)

    monkeypatch.setattr(Pipeline, "feed", recording_feed)
    return sizes_bytes


@pytest.fixture
def game() -> bytes:
    return synthetic_match(seed=4, frames=600, rollbacks=True)


class Written(PlayedGame):
    """A game in the folder of a station. `grow` waits until the station has read it."""

    def __init__(self, station: Station, whole: bytes) -> None:
        super().__init__(station.folder / "Game_1.slp", whole)
        self._read_bytes = 0
        station.files.on_bytes = self._read

    def _read(self, followed: object, offset: int, data: bytes) -> None:
        self._read_bytes = offset + len(data)

    async def grow(self, count: int) -> None:
        self.write(count)
        await until(lambda: self._read_bytes == self.size_bytes)


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
async def test_unread_bytes_are_decoded_together(tmp_path: Path, game: bytes, fed: list[int]) -> None:
    async with running_station(tmp_path, timing=NO_TICKS) as station:
        written = Written(station, game)
        await written.grow(4000)
        until_start = len(fed)
        for _ in range(20):
            await written.grow(800)
        assert len(fed) == until_start
        assert station.describe()["game"]["lastFrame"] > -123
        assert fed[until_start:] == [16_000]
        for _ in range(10):
            await written.grow(30_000)
        assert max(fed) <= 1 << 16, "unread bytes are limited"
        assert sum(fed) >= written.size_bytes - (1 << 16)


@pytest.mark.trio
async def test_unread_game_is_published_by_the_clock_and_counted_without_a_delay(tmp_path: Path, game: bytes) -> None:
    metrics = Metrics()

    def value(name: str) -> float:
        return sum(float(line.split()[-1]) for line in metrics.render().decode().splitlines() if line.startswith(name))

    async with running_station(tmp_path, metrics=metrics) as station:
        written = Written(station, game)
        await written.grow(4000)
        await until(lambda: value("slpstream_frames_total") > 0)
        delays, frames = value("slpstream_append_to_publish_seconds_count"), value("slpstream_frames_total")
        await written.grow(20_000)
        shown = station.channel.current
        assert shown is not None
        await until(lambda: shown.newest_frame_number is not None and shown.newest_frame_number > -123)
        await until(lambda: value("slpstream_frames_total") > frames)
        assert value("slpstream_append_to_publish_seconds_count") == delays


@pytest.mark.trio
@pytest.mark.parametrize("failing_in", ["reading", "a request"])
async def test_pipeline_that_fails_on_held_bytes_is_not_used_again(
    tmp_path: Path, game: bytes, monkeypatch: pytest.MonkeyPatch, failing_in: str
) -> None:
    counted: list[str] = []
    used_after: list[Pipeline] = []
    feed = Pipeline.feed

    def failing_feed(self: Pipeline, data: bytes) -> object:
        if counted:
            used_after.append(self)
        elif len(data) > 20_000:
            raise KeyError("bug")
        return feed(self, data)

    monkeypatch.setattr(Pipeline, "feed", failing_feed)
    errors = InternalErrors(counted.append, strict=False)
    async with running_station(tmp_path, timing=NO_TICKS, errors=errors) as station:
        written = Written(station, game)
        await written.grow(4000)
        for _ in range(12):
            await written.grow(5000)
        if failing_in == "reading":
            written.write(8000)
            await until(lambda: counted)
        else:
            assert station.describe()["state"] == "idle"
        written.write(8000)
        await trio.sleep(0.1)
        assert counted == ["file"]
        assert not used_after


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
        written = Written(station, game)
        await written.grow(4000)
        while written.size_bytes < 150_000:
            for _ in range(chance.randrange(5)):
                await written.grow(chance.choice((300, 3000, 9000)))
            mode = chance.choice(MODES)
            async with consumed(station, mode) as received:
                await trio.testing.wait_all_tasks_blocked()
                assert received == dump[mode][: len(received)]
                count = len(received)
                await written.grow(9000)
                await until(partial(is_longer, received, count))
            assert received == dump[mode][: len(received)]
        written.end()
        await until(lambda: station.state == "idle")
        for mode in MODES:
            async with consumed(station, mode) as received:
                await until(partial(is_longer, received, len(dump[mode]) - 1))
            assert received == dump[mode]


@pytest.mark.trio
@pytest.mark.parametrize("mode", MODES)
async def test_live_reader_begins_at_the_head(tmp_path: Path, game: bytes, mode: FramesMode) -> None:
    async with running_station(tmp_path, timing=NO_TICKS) as station:
        written = Written(station, game)
        await written.grow(4000)
        await written.grow(20_000)
        pipeline = Pipeline(SlippiReader(), MODES)
        pipeline.feed(game[: written.size_bytes])
        async with consumed(station, mode, "live") as received:
            assert received == []
            await written.grow(5000)
            expected = [message.json().decode() for message in pipeline.feed(game[24_000:29_000]).logs[mode]]
            await until(partial(is_longer, received, len(expected) - 1))
        assert received == expected
