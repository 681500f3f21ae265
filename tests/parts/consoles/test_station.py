"""A station whose disk is full: it continues to stream, and its log equals that of the complete file.

Determinism: a real folder and real threads; `fail_after` is the only timeout, and every wait is for a visible event.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.station.station import Station
from slpstream.model.messages import START, LogMessage
from slpstream.parts import registry
from slpstream.parts.consoles.reporter import SourceReporter
from slpstream.system.metrics import Metrics
from tests.daemons.station import running_station, until, whole_log
from tests.parts.consoles.disks import Disk
from tests.parts.consoles.recordings import GAME, OTHER, recorder_of
from tests.parts.consoles.wii import raw_of


class Setup:
    """A station, its recorder, and the disk."""

    def __init__(self, station: Station, metrics: Metrics, limiter: trio.CapacityLimiter) -> None:
        self.metrics = metrics
        self.disk = Disk()
        self.station = station
        self.reporter = SourceReporter(station, metrics, "console")
        in_thread = partial(trio.to_thread.run_sync, limiter=limiter)
        self.recorder = recorder_of(station.folder, self.reporter, in_thread=in_thread, open_file=self.disk.open)
        station.files.read_unwritten = self.recorder.read_unwritten

    def published(self, game: int = 0) -> Sequence[LogMessage]:
        """The log of a game as the station has published it."""
        games = self.station.channel.games
        return (games[game].logs["live"].since(START) or []) if game < len(games) else []

    def reason(self) -> str:
        return str(self.station.describe()["reason"])


@asynccontextmanager
async def recording(folder: Path) -> AsyncIterator[Setup]:
    folder.mkdir()
    metrics, limiter = registry.metrics(), trio.CapacityLimiter(4)
    async with running_station(folder, metrics=metrics, limiter=limiter, stalled_seconds=60.0) as station:
        setup = Setup(station, metrics, limiter)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(setup.recorder.run)
            setup.reporter.connected("Wii", "1")
            yield setup
            nursery.cancel_scope.cancel()


def lines(log: Sequence[LogMessage]) -> list[bytes]:
    return [message.json() for message in log]


async def send(setup: Setup, data: bytes) -> None:
    for start in range(0, len(data), 3000):
        setup.recorder.receive(data[start : start + 3000])
        await trio.sleep(0.002)


@pytest.mark.slow
@pytest.mark.trio
@pytest.mark.parametrize("begin", [0, 21_000])
async def test_full_disk_during_a_game(tmp_path: Path, begin: int) -> None:
    """The disk is full from the first byte or later, and has space again before the game ends."""
    async with recording(tmp_path / "wii") as setup:
        await send(setup, GAME[:begin])
        if begin:
            await until(lambda: setup.station.state == "playing")
        setup.disk.failing = errno.ENOSPC
        await send(setup, GAME[begin:45_000])
        await until(lambda: any(b'"frame":-20,' in message.body for message in setup.published()))
        assert setup.station.state == "playing"
        assert "No space left on device" in setup.reason()
        assert setup.recorder.unwritten_bytes > 20_000
        assert lines(await whole_log(setup.station.channel.games[0])) == lines(setup.published())
        setup.disk.failing = None
        await until(lambda: setup.recorder.unwritten_bytes == 0 and "space" not in setup.reason())
        await send(setup, GAME[45_000:])
        setup.recorder.close_ended_game()
        await until(lambda: bool(setup.published()) and setup.published()[-1].type == "metadata")
        await until(lambda: len(setup.station.files) == 0)
        await send(setup, OTHER)
        await until(lambda: len(setup.published(1)) > 3 and setup.published(1)[-1].type == "game_end")
        [first, second] = sorted((tmp_path / "wii").glob("*.slp"), key=lambda path: len(path.name))
        assert raw_of(first.read_bytes()) == GAME
        assert lines(setup.published()) == lines(list(messages(first)))
        assert lines(setup.published(1)) == lines(list(messages(second)))[: len(setup.published(1))]
        assert len(setup.station.channel.games) == 2


@pytest.mark.slow
@pytest.mark.trio
async def test_full_disk_during_a_whole_game(tmp_path: Path) -> None:
    """The file is complete once the disk has space again."""
    async with recording(tmp_path / "wii") as setup:
        setup.disk.failing = errno.EDQUOT
        await send(setup, GAME)
        setup.recorder.close_ended_game()
        await until(lambda: bool(setup.published()) and setup.published()[-1].type == "metadata")
        assert setup.station.state == "idle"
        assert not list((tmp_path / "wii").glob("*.slp"))
        assert lines(await whole_log(setup.station.channel.games[0])) == lines(setup.published())
        setup.disk.failing = None
        await until(lambda: setup.recorder.unwritten_bytes == 0)
        await until(lambda: len(setup.station.files) == 0)
        [path] = (tmp_path / "wii").glob("*.slp")
        assert raw_of(path.read_bytes()) == GAME
        assert lines(setup.published()) == lines(list(messages(path)))
        assert len(setup.station.channel.games) == 1


@pytest.mark.trio
async def test_state_reason_and_metrics(tmp_path: Path) -> None:
    async with recording(tmp_path / "wii") as setup:
        setup.reporter.unreachable("no answer")
        assert (setup.station.state, setup.reason()) == ("offline", "console cannot be reached: no answer")
        assert not setup.station.ready
        setup.reporter.connected("Wii", "1")
        assert (setup.station.state, setup.reason()) == ("idle", "watching")
        await send(setup, GAME[:30_000])
        await until(lambda: setup.station.state == "playing")
        setup.reporter.unreachable("no answer")
        assert setup.station.state == "offline"
        setup.reporter.connected("Wii", "1")
        setup.recorder.gap(500)
        setup.recorder.receive(GAME[40_000:41_000])
        await trio.sleep(0)
        text = setup.metrics.render().decode()
        assert 'slpstream_source_reconnects_total{station="setup"} 2.0' in text
        assert 'slpstream_source_gaps_total{station="setup"} 1.0' in text
        assert 'slpstream_diagnostics_total{code="gap",station="setup"} 1.0' in text
