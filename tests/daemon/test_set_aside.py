"""A bug in a station: the file is set aside until it changes, and the station itself is started again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.config import Watch
from slpstream.daemon.station import SharedServices, Station, set_aside, station
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import START
from slpstream.sources.tail import FolderTail
from slpstream.system import internal_errors
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import Metrics
from tests.daemons.station import running_station, until
from tests.faults.scene import log_lines
from tests.synthetic.match import synthetic_match

DATA = synthetic_match(seed=3, frames=60)
HALF = len(DATA) // 2


class Watched:
    """A running station, and the errors that were counted in it."""

    def __init__(self, folder: Path) -> None:
        self.counted: list[str] = []
        self.station = Station(
            "setup",
            folder,
            name="",
            notifications=None,
            metrics=Metrics().station("setup"),
            watch=Watch(poll_seconds=0.01, scan_seconds=0.02),
            ring_bytes=1 << 20,
            shared=SharedServices(trio.CapacityLimiter(4), errors=InternalErrors(self.counted.append, strict=False)),
        )

    def lines(self) -> list[bytes]:
        """The log of the current game."""
        game = self.station.channel.current
        return [] if game is None else [m.json() for m in game.logs["live"].since(START) or []]


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[Watched]:
    """Run a station whose bugs are contained."""
    here = Watched(folder)
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.station.run)
            await until(lambda: here.station.channel.settled)
            yield here
            nursery.cancel_scope.cancel()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Pipelines raise while `on` is true."""
    switch = {"on": False}
    feed = Pipeline.feed

    def failing_feed(self: Pipeline, data: bytes, *unread: Any) -> Any:
        if switch["on"]:
            raise KeyError("bug")
        return feed(self, data, *unread)

    monkeypatch.setattr(Pipeline, "feed", failing_feed)
    return switch


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data[:11] + bytes(4) + data[15:])


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.trio
async def test_log_goes_on_when_a_file_that_was_set_aside_grows(
    tmp_path: Path, failing: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_aside, "_FIRST_PAUSE_SECONDS", 0.2)
    path = tmp_path / "Game_1.slp"
    async with watched(tmp_path) as here:
        write(path, DATA[:HALF])
        await until(lambda: len(here.lines()) > 10)
        before = here.lines()
        failing["on"] = True
        append(path, DATA[HALF : HALF + 2000])
        await until(lambda: here.counted == ["file"])
        assert here.station.active_files == 0
        assert here.station.state == "idle"
        assert here.station.describe()["reason"].startswith("internal error ")
        failing["on"] = False
        await trio.sleep(0.1)
        assert here.lines() == before, "it has not changed"
        append(path, DATA[HALF + 2000 :])
        expected = log_lines(DATA[:11] + bytes(4) + DATA[15:])
        await until(lambda: here.lines() == expected)
        assert here.counted == ["file"]


@pytest.mark.slow
@pytest.mark.trio
async def test_growing_file_is_tried_again_after_pauses(
    tmp_path: Path, failing: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_aside, "_FIRST_PAUSE_SECONDS", 0.5)
    path = tmp_path / "Game_1.slp"
    async with watched(tmp_path) as here:
        failing["on"] = True
        write(path, DATA[:HALF])
        for i in range(120):
            append(path, DATA[HALF + i : HALF + i + 1])
            await trio.sleep(0.01)
        assert 2 <= len(here.counted) <= 3, "at once, and after pauses"


@pytest.mark.trio
async def test_next_file_is_streamed(tmp_path: Path, failing: dict[str, bool]) -> None:
    async with watched(tmp_path) as here:
        failing["on"] = True
        write(tmp_path / "Game_1.slp", DATA)
        await until(lambda: here.counted == ["file"])
        failing["on"] = False
        other = synthetic_match(seed=4, frames=30)
        (tmp_path / "Game_2.slp").write_bytes(other)
        await until(lambda: here.lines() == log_lines(other))


@pytest.mark.slow
@pytest.mark.trio
async def test_station_that_keeps_failing_is_offline_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(internal_errors, "_FIRST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(station, "_STABLE_SECONDS", 0.5)
    path = tmp_path / "Game_1.slp"
    advance = FolderTail._advance
    broken = False

    async def failing_advance(self: FolderTail, now: float) -> None:
        if broken:
            raise KeyError("bug")
        await advance(self, now)

    monkeypatch.setattr(FolderTail, "_advance", failing_advance)
    async with watched(tmp_path) as here:
        write(path, DATA[:HALF])
        await until(lambda: len(here.lines()) > 10)
        broken = True
        await until(lambda: here.counted == ["station"])
        assert here.station.describe()["state"] == "playing"
        await until(lambda: here.counted == ["station"] * 2)
        await trio.lowlevel.checkpoint()
        assert here.station.describe()["state"] == "offline"
        assert here.station.describe()["reason"].startswith("internal error ")
        append(path, DATA[HALF:])
        broken = False
        expected = log_lines(DATA[:11] + bytes(4) + DATA[15:])
        await until(lambda: here.lines() == expected)
        await until(lambda: here.station.state != "offline")


@pytest.mark.trio
async def test_strict_station_raises(tmp_path: Path, failing: dict[str, bool]) -> None:
    with pytest.RaisesGroup(KeyError, flatten_subgroups=True, allow_unwrapped=True):
        async with running_station(tmp_path) as running:
            failing["on"] = True
            write(tmp_path / "Game_1.slp", DATA)
            await until(lambda: running.active_files > 5)
