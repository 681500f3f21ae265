"""Stations that are added, removed and changed, and the subfolders that are stations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from slpstream.config import StationConfig
from slpstream.daemon.station.station import Station
from slpstream.daemon.stations import RunningStation, RunningStations
from slpstream.daemon.subfolders import Subfolders, expand
from slpstream.stream import Channel, Hub

pytestmark = pytest.mark.trio


class FakeStation:
    """A station without files."""

    def __init__(self, config: StationConfig) -> None:
        self.id, self.folder, self.name = config.id, config.folder, config.name or config.id
        self.channel = Channel(config.id, self._locate)
        self.left = ""
        self.runs = False

    async def _locate(self, game_id: str) -> None:
        raise AssertionError("nobody asks for old games here")

    async def run(self) -> None:
        self.runs = True
        try:
            await trio.sleep_forever()
        finally:
            self.runs = False

    def leave(self, reason: str) -> None:
        assert self.runs, "subscribers are told before the station is cancelled"
        self.left = reason


class Around:
    """Running stations, and a record of what happened to them."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.running = RunningStations(self.hub)
        self.made: list[FakeStation] = []
        self.changes: list[str] = []
        """`+id` when a station was added, `-id` when it was released."""
        self.companions: list[str] = []
        """Stations with a running companion task."""

    def make(self, config: StationConfig) -> Station:
        self.made.append(FakeStation(config))
        return cast("Station", self.made[-1])

    def start_companions(self, running: RunningStation) -> None:
        assert not cast("FakeStation", running.station).runs
        self.changes.append(f"+{running.config.id}")
        running.nursery.start_soon(self._companion, running.config.id)

    async def _companion(self, station: str) -> None:
        self.companions.append(station)
        try:
            await trio.sleep_forever()
        finally:
            self.companions.remove(station)

    def release(self, station: Station) -> None:
        assert not cast("FakeStation", station).runs
        assert station.id not in self.companions, "companions end with the station"
        self.changes.append(f"-{station.id}")

    @property
    def now(self) -> dict[str, str]:
        """The folders of the running stations."""
        assert set(self.hub.channels) == set(self.running)
        assert {station.id for station in self.made if station.runs} == set(self.running)
        return {name: running.config.folder for name, running in self.running.items()}

    async def apply(self, *stations: tuple[str, str]) -> None:
        """Applies configured stations, given as id and folder."""
        await self.running.apply([config(*station) for station in stations], "configured")
        await wait_all_tasks_blocked()


def config(station: str, folder: str, name: str = "") -> StationConfig:
    return StationConfig(id=station, folder=folder, name=name)


@asynccontextmanager
async def around() -> AsyncIterator[Around]:
    it = Around()
    async with trio.open_nursery() as nursery:
        await nursery.start(it.running.run, it.make, it.start_companions, it.release)
        yield it
        nursery.cancel_scope.cancel()


async def test_unchanged_stations_are_not_touched() -> None:
    async with around() as it:
        await it.apply(("a", "/a"), ("b", "/b"), ("c", "/c"))
        assert it.now == {"a": "/a", "b": "/b", "c": "/c"}
        same = it.running["b"].station
        await it.apply(("d", "/d"), ("b", "/b"), ("c", "/elsewhere"))
        assert it.now == {"b": "/b", "c": "/elsewhere", "d": "/d"}
        assert it.running["b"].station is same
        assert it.changes == ["+a", "+b", "+c", "-a", "+d", "-c", "+c"]
        assert sorted(it.companions) == ["b", "c", "d"]
        assert [station.left for station in it.made if station.left] == ["removed", "changed"]


async def test_renamed_station_is_not_restarted() -> None:
    async with around() as it:
        await it.running.apply([config("a", "/a")], "configured")
        await it.running.apply([config("a", "/a", "Top 8")], "configured")
        assert it.running["a"].station.name == "Top 8"
        await it.running.apply([config("a", "/a")], "configured")
        assert it.running["a"].station.name == "a"
        assert len(it.made) == 1


async def test_each_origin_changes_its_own_stations() -> None:
    async with around() as it:
        await it.apply(("a", "/a"))
        assert await it.running.add(config("wii", "/wii"))
        assert not await it.running.add(config("a", "/other")), "a configured station takes precedence"
        assert not await it.running.add(config("wii", "/other")), "the id is in use"
        await it.running.apply([config("sub", "/sub"), config("a", "/sub2")], "subfolder")
        await wait_all_tasks_blocked()
        assert it.now == {"a": "/a", "wii": "/wii", "sub": "/sub"}
        await it.apply(("a", "/a"), ("wii", "/mine"))
        assert it.now == {"a": "/a", "wii": "/mine", "sub": "/sub"}, "it takes the id from a discovered station"
        await it.running.apply([], "subfolder")
        assert it.now == {"a": "/a", "wii": "/mine"}
        await it.running.remove("a")
        await it.running.remove("a")
        assert it.now == {"wii": "/mine"}


async def test_failure_of_a_station_is_raised() -> None:
    class Failing(FakeStation):
        async def run(self) -> None:
            raise ZeroDivisionError

    hub = Hub()
    running = RunningStations(hub)
    with pytest.RaisesGroup(pytest.RaisesGroup(pytest.RaisesGroup(ZeroDivisionError))):
        async with trio.open_nursery() as nursery:
            await nursery.start(
                running.run,
                lambda wanted: cast("Station", Failing(wanted)),
                lambda running: None,
                lambda station: None,
            )
            await running.add(config("a", "/a"))


def mirrored(root: Path, *extra: tuple[str, str]) -> list[StationConfig]:
    return [config("*", str(root)), *(config(*station) for station in extra)]


async def until(condition: object, it: Around) -> None:
    """Waits until the running stations have these ids and folders."""
    with trio.fail_after(20):
        while {name: running.config.folder for name, running in it.running.items()} != condition:
            await trio.sleep(0.01)
        await wait_all_tasks_blocked()
    assert it.now == condition


async def test_subfolders_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.subfolders._LOOK_SECONDS", 0.02)
    root = tmp_path / "consoles"
    for name in ("Wii 1", "Wii_2", ".hidden", "Wii/1"):
        (root / name).mkdir(parents=True)
    (root / "a file").touch()
    explicit = tmp_path / "consoles" / "Wii_2"
    async with around() as it, trio.open_nursery() as nursery:
        stations = mirrored(root, ("main", str(explicit)))
        subfolders = Subfolders(it.running, scan_seconds=0.05, offline_seconds=0.5)
        await it.running.apply([stations[1]], "configured")
        subfolders.configure(stations)
        nursery.start_soon(subfolders.run)
        main = {"main": str(explicit)}
        await until({**main, "Wii-1": str(root / "Wii 1"), "Wii": str(root / "Wii")}, it)
        assert it.running["Wii-1"].station.name == "Wii 1"

        (root / "Wii?1").mkdir()
        (root / "main").mkdir()
        both = {"Wii-1-2": str(root / "Wii?1"), "main-2": str(root / "main")}
        await until({**main, "Wii-1": str(root / "Wii 1"), "Wii": str(root / "Wii"), **both}, it)

        began = trio.current_time()
        (root / "Wii 1").rmdir()
        await until({**main, "Wii": str(root / "Wii"), **both}, it)
        assert trio.current_time() - began >= 0.4, "it stays offline for a while first"

        root.rename(tmp_path / "away")  # like a network share that is gone for a while
        await trio.sleep(0.7)
        assert len(it.now) == 4
        (tmp_path / "away").rename(root)
        (root / "Wii 1").mkdir()  # returns under its old id
        await until({**main, "Wii": str(root / "Wii"), **both, "Wii-1": str(root / "Wii 1")}, it)

        untouched = it.running["Wii"].station
        again = mirrored(root, ("main", str(explicit)), ("Wii-1", str(root / "main")))
        await it.running.apply(again[1:], "configured")
        subfolders.configure(again)
        here = {**main, "Wii": str(root / "Wii"), "Wii-1": str(root / "main"), "Wii-1-2": str(root / "Wii?1")}
        await until({**here, "Wii-1-3": str(root / "Wii 1")}, it)
        assert it.running["Wii"].station is untouched

        subfolders.configure(again[1:])
        await until({**main, "Wii-1": str(root / "main")}, it)
        nursery.cancel_scope.cancel()


async def test_expand_lists_the_present_subfolders(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    stations = expand([config("*", str(tmp_path)), config("main", "/main"), config("*", "/nowhere")])
    assert [(station.id, station.folder) for station in stations] == [
        ("main", "/main"),
        ("link", str(tmp_path / "link")),
    ]


async def test_link_loops_are_unreadable_folders(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    loop = str(tmp_path / "round")
    async with around() as it, trio.open_nursery() as nursery:
        stations = [config("main", loop), config("*", loop)]
        subfolders = Subfolders(it.running, scan_seconds=1.0)
        await it.running.apply(stations[:1], "configured")
        subfolders.configure(stations)
        nursery.start_soon(subfolders.run)
        with trio.fail_after(20):
            await subfolders.looked.wait()
        assert it.now == {"main": loop}
        assert subfolders.unreadable == {Path(loop)}
        nursery.cancel_scope.cancel()


async def test_subfolder_whose_id_was_taken_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.subfolders._LOOK_SECONDS", 0.02)
    (tmp_path / "Wii").mkdir()
    async with around() as it, trio.open_nursery() as nursery:
        subfolders = Subfolders(it.running, scan_seconds=0.05, offline_seconds=0.1)
        subfolders.configure([config("*", str(tmp_path))])
        nursery.start_soon(subfolders.run)
        await until({"Wii": str(tmp_path / "Wii")}, it)
        (tmp_path / "Wii").rmdir()
        await until({}, it)
        assert await it.running.add(config("Wii", "/console"))
        (tmp_path / "Wii").mkdir()
        await until({"Wii": "/console", "Wii-2": str(tmp_path / "Wii")}, it)
        nursery.cancel_scope.cancel()
