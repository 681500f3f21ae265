"""A station whose disk takes no bytes: it streams on, and what it says is what the whole file says.

Determinism: a real folder and real threads; `fail_after` the only time, and every wait is for something that is said.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.consoles import SourceReporter
from slpstream.daemon.station.station import Station
from slpstream.model.messages import START, LogMessage
from slpstream.sources.console.recorder import Recorder
from slpstream.stream.game import place_of
from slpstream.system.metrics import Metrics
from tests.sources.console.disks import Disk
from tests.sources.console.test_recorder import GAME, OTHER
from tests.sources.console.wii import raw_of

TIMEOUT_SECONDS = 20.0


class Recorded:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics = Metrics()
        self.disk = Disk()
        limiter = trio.CapacityLimiter(4)
        self.station = Station(
            "wii",
            folder,
            name="Wii",
            notifications=None,
            metrics=self.metrics.station("wii"),
            limiter=limiter,
            poll_seconds=0.02,
            scan_seconds=0.05,
            stalled_seconds=60,
            idle_seconds=60,
            ring_bytes=1 << 24,
        )
        self.reporter = SourceReporter(self.station, self.metrics.station("wii"), "console")
        self.recorder = Recorder(
            folder,
            self.reporter,
            played_on="nintendont",
            max_unwritten_bytes=1 << 20,
            in_thread=partial(trio.to_thread.run_sync, limiter=limiter),
            wall_clock=lambda: 1_700_000_000.0,
            open_file=self.disk.open,
        )
        self.station.read_unwritten = self.recorder.read_unwritten

    def said(self, game: int = 0) -> Sequence[LogMessage]:
        """The log of a game as the station has it."""
        games = self.station.channel.games
        return (games[game].logs["live"].since(START) or []) if game < len(games) else []

    async def replayed(self) -> Sequence[LogMessage]:
        """The same log, read back from the file and from what waits for the disk."""
        read: list[LogMessage] = []
        while more := await self.station.channel.games[0].replay("live", place_of(read[-1]) if read else START):
            read += more
        return read

    def reason(self) -> str:
        return str(self.station.describe()["reason"])

    async def until(self, what: Callable[[], bool]) -> None:
        while not what():
            await trio.sleep(0.005)


@asynccontextmanager
async def recorded(folder: Path) -> AsyncIterator[Recorded]:
    folder.mkdir()
    with trio.fail_after(TIMEOUT_SECONDS):
        at = Recorded(folder)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(at.station.run)
            nursery.start_soon(at.recorder.run)
            at.reporter.connected("Wii", "1")
            await at.until(lambda: at.station.ready)
            yield at
            nursery.cancel_scope.cancel()


def lines(log: Sequence[LogMessage]) -> list[bytes]:
    return [message.json() for message in log]


async def in_steps(at: Recorded, data: bytes) -> None:
    for start in range(0, len(data), 3000):
        at.recorder.receive(data[start : start + 3000])
        await trio.sleep(0.002)


@pytest.mark.trio
@pytest.mark.parametrize("begin", [0, 21_000])
async def test_streaming_past_a_full_disk(tmp_path: Path, begin: int) -> None:
    """From the first byte of a game, or in its middle; the disk gets room while the game is on."""
    async with recorded(tmp_path / "wii") as at:
        await in_steps(at, GAME[:begin])
        if begin:
            await at.until(lambda: at.station.state == "playing")
        at.disk.failing = errno.ENOSPC
        await in_steps(at, GAME[begin:45_000])
        await at.until(lambda: any(b'"frame":-20,' in message.body for message in at.said()))
        assert at.station.state == "playing"
        assert "No space left on device" in at.reason()
        assert at.recorder.unwritten_bytes > 20_000
        assert lines(await at.replayed()) == lines(at.said())
        at.disk.failing = None
        await at.until(lambda: at.recorder.unwritten_bytes == 0 and "space" not in at.reason())
        await in_steps(at, GAME[45_000:])
        at.recorder.rest()
        await at.until(lambda: bool(at.said()) and at.said()[-1].type == "metadata")
        await at.until(lambda: at.station.active_files == 0)
        await in_steps(at, OTHER)
        await at.until(lambda: len(at.said(1)) > 3 and at.said(1)[-1].type == "game_end")
        [first, second] = sorted((tmp_path / "wii").glob("*.slp"), key=lambda path: len(path.name))
        assert raw_of(first.read_bytes()) == GAME
        assert lines(at.said()) == lines(list(messages(first)))
        assert lines(at.said(1)) == lines(list(messages(second)))[: len(at.said(1))]
        assert len(at.station.channel.games) == 2


@pytest.mark.trio
async def test_a_whole_game_past_the_disk(tmp_path: Path) -> None:
    """It begins and ends while the disk is full; the file is there when it has room."""
    async with recorded(tmp_path / "wii") as at:
        at.disk.failing = errno.EDQUOT
        await in_steps(at, GAME)
        at.recorder.rest()
        await at.until(lambda: bool(at.said()) and at.said()[-1].type == "metadata")
        assert at.station.state == "idle"
        assert not list((tmp_path / "wii").glob("*.slp"))
        assert lines(await at.replayed()) == lines(at.said())
        at.disk.failing = None
        await at.until(lambda: at.recorder.unwritten_bytes == 0)
        await at.until(lambda: at.station.active_files == 0)
        [path] = (tmp_path / "wii").glob("*.slp")
        assert raw_of(path.read_bytes()) == GAME
        assert lines(at.said()) == lines(list(messages(path)))
        assert len(at.station.channel.games) == 1


@pytest.mark.trio
async def test_what_people_see(tmp_path: Path) -> None:
    async with recorded(tmp_path / "wii") as at:
        at.reporter.unreachable("no answer")
        assert (at.station.state, at.reason()) == ("offline", "console cannot be reached: no answer")
        assert not at.station.ready
        at.reporter.connected("Wii", "1")
        assert (at.station.state, at.reason()) == ("idle", "watching")
        await in_steps(at, GAME[:30_000])
        await at.until(lambda: at.station.state == "playing")
        at.reporter.unreachable("no answer")
        assert at.station.state == "offline"
        at.reporter.connected("Wii", "1")
        at.recorder.gap(500)
        at.recorder.receive(GAME[40_000:41_000])
        await trio.sleep(0)
        text = at.metrics.render().decode()
        assert 'slpstream_source_reconnects_total{station="wii"} 2.0' in text
        assert 'slpstream_source_gaps_total{station="wii"} 1.0' in text
        assert 'slpstream_diagnostics_total{code="gap",station="wii"} 1.0' in text
