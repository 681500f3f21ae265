"""A bug in a station quarantines the file until it changes, and the station itself is restarted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.station import Station
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import START
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import Metrics
from tests.daemons.played_game import PlayedGame
from tests.daemons.station import running_station, until
from tests.faults.scene import log_lines
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio
DATA = synthetic_match(seed=3, frames=60)
HALF = len(DATA) // 2


def lines(station: Station) -> list[bytes]:
    """The log of the current game."""
    game = station.channel.current
    return [] if game is None else [m.json() for m in game.logs["live"].since(START) or []]


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[tuple[Station, list[str]]]:
    """A station whose bugs are contained, and the parts in which they were counted."""
    counted: list[str] = []
    async with running_station(folder, errors=InternalErrors(counted.append, strict=False)) as station:
        yield station, counted


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Reading raises while `file` is true, and the upkeep of the station while `station` is true."""
    switch = {"file": False, "station": False}

    def failing_while(name: str, call: Any, *arguments: Any) -> Any:
        if switch[name]:
            raise KeyError("bug")
        return call(*arguments)

    for name, owner, method in (("file", Pipeline, "feed"), ("station", StationCounters, "tick")):
        real = partial(failing_while, name, getattr(owner, method))
        monkeypatch.setattr(owner, method, lambda *arguments, real=real: real(*arguments))
    return switch


async def test_log_continues_when_a_quarantined_file_grows(tmp_path: Path, failing: dict[str, bool]) -> None:
    game = PlayedGame(tmp_path / "Game_1.slp", DATA)
    async with watched(tmp_path) as (station, counted):
        game.write(HALF)
        await until(lambda: len(lines(station)) > 10)
        before = lines(station)
        failing["file"] = True
        game.write(2000)
        await until(lambda: counted == ["file"])
        assert len(station.files) == 0
        assert station.state == "idle"
        assert station.describe()["reason"].startswith("internal error ")
        failing["file"] = False
        await trio.sleep(0.1)
        assert lines(station) == before, "it has not changed"
        game.write(len(DATA))
        await until(lambda: lines(station) == log_lines(game.unfinished()))
        assert counted == ["file"]


@pytest.mark.slow
async def test_growing_file_is_tried_again_after_pauses(tmp_path: Path, failing: dict[str, bool]) -> None:
    game = PlayedGame(tmp_path / "Game_1.slp", DATA)
    async with watched(tmp_path) as (_, counted):
        failing["file"] = True
        game.write(HALF)
        began = trio.current_time()
        while len(counted) < 3:
            game.write(1)
            await trio.sleep(0.01)
        assert trio.current_time() - began >= 0.6, "at once, and after pauses of 0.2 and 0.4 seconds"


async def test_next_file_is_streamed(tmp_path: Path, failing: dict[str, bool]) -> None:
    async with watched(tmp_path) as (station, counted):
        failing["file"] = True
        (tmp_path / "Game_1.slp").write_bytes(DATA)
        await until(lambda: counted == ["file"])
        failing["file"] = False
        other = synthetic_match(seed=4, frames=30)
        (tmp_path / "Game_2.slp").write_bytes(other)
        await until(lambda: lines(station) == log_lines(other))


@pytest.mark.slow
async def test_station_that_keeps_failing_is_offline_and_recovers(tmp_path: Path, failing: dict[str, bool]) -> None:
    game = PlayedGame(tmp_path / "Game_1.slp", DATA)
    async with watched(tmp_path) as (station, counted):
        game.write(HALF)
        await until(lambda: len(lines(station)) > 10)
        failing["station"] = True
        await until(lambda: counted == ["station"])
        assert station.describe()["state"] == "playing"
        await until(lambda: station.describe()["state"] == "offline")
        assert counted == ["station"] * 2
        assert station.describe()["reason"].startswith("internal error ")
        game.write(len(DATA))
        failing["station"] = False
        await until(lambda: lines(station) == log_lines(game.unfinished()))
        await until(lambda: station.state != "offline")


async def test_bytes_with_a_bug_count_as_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(reader: object, data: bytes) -> None:
        raise KeyError("bug")

    monkeypatch.setattr(SlippiReader, "feed", feed)
    metrics = Metrics()
    async with running_station(tmp_path, metrics=metrics, errors=InternalErrors(strict=False)):
        (tmp_path / "Game_1.slp").write_bytes(DATA[:2000])
        await until(lambda: 'slpstream_read_bytes_total{station="setup"} 2000.0' in metrics.render().decode())


async def test_strict_station_raises(tmp_path: Path, failing: dict[str, bool]) -> None:
    with pytest.RaisesGroup(KeyError, flatten_subgroups=True, allow_unwrapped=True):
        async with running_station(tmp_path) as station:
            failing["file"] = True
            (tmp_path / "Game_1.slp").write_bytes(DATA)
            await until(lambda: len(station.files) > 5)
