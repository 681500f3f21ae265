"""Stations that come, go and change: who is touched, and who is told."""

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
    """What is asked of a station, without files."""

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
        assert self.runs, "it is told before it is ended"
        self.left = reason


class Told:
    """Keeps what a listener is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.beside: list[str] = []

    def on_added(self, running: RunningStation) -> None:
        self.told.append(f"+{running.config.id}")
        running.nursery.start_soon(self._beside, running.config.id)

    def on_removed(self, running: RunningStation) -> None:
        assert running.config.id not in self.beside, "what runs beside it has ended"
        self.told.append(f"-{running.config.id}")

    async def _beside(self, station: str) -> None:
        self.beside.append(station)
        try:
            await trio.sleep_forever()
        finally:
            self.beside.remove(station)


class Around:
    """Running stations, and what they were made of."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.running = RunningStations(self.hub)
        self.made: list[FakeStation] = []
        self.released: list[str] = []
        self.told = Told()

    def make(self, config: StationConfig) -> Station:
        self.made.append(FakeStation(config))
        return cast("Station", self.made[-1])

    def release(self, station: Station) -> None:
        assert not cast("FakeStation", station).runs
        self.released.append(station.id)

    @property
    def now(self) -> dict[str, str]:
        """The folders of the stations that run."""
        assert set(self.hub.channels) == set(self.running)
        assert {station.id for station in self.made if station.runs} == set(self.running)
        return {name: running.config.folder for name, running in self.running.items()}

    async def apply(self, *stations: tuple[str, str]) -> None:
        """Those that are configured: id and folder."""
        await self.running.apply([config(*station) for station in stations], "configured")
        await wait_all_tasks_blocked()


def config(station: str, folder: str, name: str = "") -> StationConfig:
    return StationConfig(id=station, folder=folder, name=name)


@asynccontextmanager
async def around() -> AsyncIterator[Around]:
    """Running stations with a listener."""
    it = Around()
    it.running.listen(it.told)
    async with trio.open_nursery() as nursery:
        await nursery.start(it.running.run, it.make, it.release)
        yield it
        nursery.cancel_scope.cancel()


async def test_what_is_the_same_is_not_touched() -> None:
    async with around() as it:
        await it.apply(("a", "/a"), ("b", "/b"), ("c", "/c"))
        assert it.now == {"a": "/a", "b": "/b", "c": "/c"}
        same = it.running["b"].station
        await it.apply(("d", "/d"), ("b", "/b"), ("c", "/elsewhere"))
        assert it.now == {"b": "/b", "c": "/elsewhere", "d": "/d"}
        assert it.running["b"].station is same
        assert sorted(it.released) == ["a", "c"]
        assert it.told.told == ["+a", "+b", "+c", "-a", "+d", "-c", "+c"]
        assert sorted(it.told.beside) == ["b", "c", "d"]
        assert [station.left for station in it.made if station.left] == ["removed", "changed"]


async def test_another_name_is_only_said() -> None:
    async with around() as it:
        await it.running.apply([config("a", "/a")], "configured")
        await it.running.apply([config("a", "/a", "Top 8")], "configured")
        assert it.running["a"].station.name == "Top 8"
        await it.running.apply([config("a", "/a")], "configured")
        assert it.running["a"].station.name == "a"
        assert len(it.made) == 1


async def test_each_speaks_for_its_own_stations() -> None:
    async with around() as it:
        await it.apply(("a", "/a"))
        assert await it.running.add(config("wii", "/wii"))
        assert not await it.running.add(config("a", "/other")), "the configuration goes before"
        assert not await it.running.add(config("wii", "/other")), "there is one already"
        await it.running.apply([config("sub", "/sub"), config("a", "/sub2")], "subfolder")
        await wait_all_tasks_blocked()
        assert it.now == {"a": "/a", "wii": "/wii", "sub": "/sub"}
        await it.apply(("a", "/a"), ("wii", "/mine"))
        assert it.now == {"a": "/a", "wii": "/mine", "sub": "/sub"}, "and wins"
        await it.running.apply([], "subfolder")
        assert it.now == {"a": "/a", "wii": "/mine"}
        await it.running.remove("a")
        await it.running.remove("a")
        assert it.now == {"wii": "/mine"}


async def test_a_late_listener_is_told_of_those_that_run() -> None:
    async with around() as it:
        await it.apply(("a", "/a"), ("b", "/b"))
        late = Told()
        it.running.listen(late)
        await it.apply(("b", "/b"))
        assert late.told == ["+a", "+b", "-a"]


async def test_a_station_that_fails_is_not_hidden() -> None:
    class Failing(FakeStation):
        async def run(self) -> None:
            raise ZeroDivisionError

    hub = Hub()
    running = RunningStations(hub)
    with pytest.RaisesGroup(pytest.RaisesGroup(pytest.RaisesGroup(ZeroDivisionError))):
        async with trio.open_nursery() as nursery:
            await nursery.start(running.run, lambda wanted: cast("Station", Failing(wanted)), lambda station: None)
            await running.add(config("a", "/a"))


# -- subfolders -------------------------------------------------------------------------------------------------------


def mirrored(root: Path, *extra: tuple[str, str]) -> list[StationConfig]:
    return [config("*", str(root)), *(config(*station) for station in extra)]


async def until(condition: object, it: Around) -> None:
    """Waits until the stations are these."""
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
        assert trio.current_time() - began >= 0.4, "for some time it is only offline"

        root.rename(tmp_path / "away")  # a share that is gone for a while: nobody knows
        await trio.sleep(0.7)
        assert len(it.now) == 4
        (tmp_path / "away").rename(root)
        (root / "Wii 1").mkdir()  # comes back under its old id
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


async def test_a_command_that_runs_once_has_them_too(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    stations = expand([config("*", str(tmp_path)), config("main", "/main"), config("*", "/nowhere")])
    assert [(station.id, station.folder) for station in stations] == [
        ("main", "/main"),
        ("link", str(tmp_path / "link")),
    ]


async def test_links_that_lead_to_each_other_are_folders_that_cannot_be_read(tmp_path: Path) -> None:
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


async def test_a_subfolder_whose_id_was_taken_while_it_was_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
