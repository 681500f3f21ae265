"""Files that vanish or are replaced while they are read or played: the station continues with the next file."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import trio

from slpstream.daemon.station.station import Station
from slpstream.game.pipeline import Pipeline
from slpstream.stream.game import Game
from slpstream.system.files import read_regular
from tests.daemons.station import TIMEOUT_SECONDS, running_station, until
from tests.formats.games import games

pytestmark = pytest.mark.trio


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.station.following.REST_SECONDS", 0.03)


def frames(game: Game | None) -> int:
    """The number of the newest frame, -1 before the first one."""
    newest = None if game is None else game.newest_frame
    return -1 if newest is None or newest.frame is None else newest.frame


async def check_next_file(station: Station, folder: Path) -> None:
    """Check that the station plays another file."""
    before = station.channel.current
    (folder / "next.gci").write_bytes(games()["race.gci"])
    await until(lambda: station.channel.current is not before and station.channel.current is not None)
    assert station.channel.current is not None
    await until(lambda: frames(station.channel.current) >= 10)


async def test_file_vanishes_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_regular
    tried: list[Path] = []

    def unlink_first(path: Path) -> bytes:
        if path.name == "race.rpl":
            tried.append(path)
            path.unlink()
        return read(path)

    monkeypatch.setattr("slpstream.daemon.station.following.read_regular", unlink_first)
    async with running_station(tmp_path) as station:
        (tmp_path / "race.rpl").write_bytes(games()["race.rpl"])
        await until(lambda: bool(tried) and len(station.files) == 0)
        assert station.channel.current is None, "no message was published"
        await check_next_file(station, tmp_path)
        assert len(tried) == 1


async def test_file_vanishes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_regular
    reading, lost = threading.Event(), threading.Event()

    def wait_until_lost(path: Path) -> bytes:
        data = read(path)
        if path.name == "race.rpl":
            reading.set()
            assert lost.wait(TIMEOUT_SECONDS)
        return data

    monkeypatch.setattr("slpstream.daemon.station.following.read_regular", wait_until_lost)
    async with running_station(tmp_path) as station:
        (tmp_path / "race.rpl").write_bytes(games()["race.rpl"])
        await until(reading.is_set)
        (tmp_path / "race.rpl").unlink()
        await until(lambda: len(station.files) == 0)
        lost.set()
        await trio.sleep(0.05)
        assert station.channel.current is None
        await check_next_file(station, tmp_path)


@pytest.mark.slow
async def test_file_vanishes_while_it_is_played(tmp_path: Path) -> None:
    async with running_station(tmp_path, pace=True) as station:
        (tmp_path / "race.rpl").write_bytes(games()["race.rpl"])
        await until(lambda: frames(station.channel.current) >= 5)
        game = station.channel.current
        assert game is not None
        assert station.state == "playing"
        (tmp_path / "race.rpl").unlink()
        await until(lambda: game.stopped == "lost")
        assert (station.state, len(station.files)) == ("idle", 0)
        newest = frames(game)
        await check_next_file(station, tmp_path)
        assert frames(game) == newest, "no further frame was published"
        assert not game.ended


async def test_file_vanishes_while_frames_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expand = Pipeline.more
    expanding, lost = threading.Event(), threading.Event()

    def wait_until_lost(pipeline: Pipeline, max_frames: int) -> object:
        logs = expand(pipeline, max_frames)
        if not expanding.is_set():
            expanding.set()
            assert lost.wait(TIMEOUT_SECONDS)
        return logs

    monkeypatch.setattr(Pipeline, "more", wait_until_lost)
    async with running_station(tmp_path) as station:
        (tmp_path / "race.rpl").write_bytes(games()["race.rpl"])
        await until(expanding.is_set)
        game = station.channel.current
        assert game is not None
        (tmp_path / "race.rpl").unlink()
        await until(lambda: game.stopped == "lost")
        lost.set()
        await check_next_file(station, tmp_path)
        assert frames(game) == -1


async def test_file_is_replaced_while_it_is_played(tmp_path: Path) -> None:
    async with running_station(tmp_path, pace=True) as station:
        path = tmp_path / "race.rpl"
        data = games()["race.rpl"]
        path.write_bytes(data)
        await until(lambda: frames(station.channel.current) >= 5)
        game = station.channel.current
        (tmp_path / "new").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        (tmp_path / "new").rename(path)
        await until(lambda: station.channel.current is not game and frames(station.channel.current) >= 5)
        assert game is not None
        assert game.stopped == "lost"
        assert len(station.files) == 1
