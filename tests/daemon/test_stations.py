"""Adding, removing and changing stations, and subfolders as stations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from slpstream.config import StationConfig
from slpstream.daemon.station.station import Station
from slpstream.daemon.stations import Origin, RunningStation, RunningStations
from slpstream.daemon.subfolders import Subfolders, list_subfolders
from slpstream.stream.channel import Channel, Hub
from tests.daemons.station import TIMEOUT_SECONDS, running_station
from tests.daemons.station import until as until_true

pytestmark = pytest.mark.trio


class FakeStation:
    """A station without files."""

    def __init__(self, config: StationConfig) -> None:
        self.id, self.folder, self.name = config.id, config.folder, config.name or config.id
        self.channel = Channel(config.id, self._locate)
        self.left = ""
        self.runs = False

    async def _locate(self, game_id: str) -> None:
        raise AssertionError("no test locates old games")

    async def run(self) -> None:
        self.runs = True
        try:
            await trio.sleep_forever()
        finally:
            self.runs = False

    def leave(self, reason: str) -> None:
        assert self.runs, "subscribers are notified before the station is cancelled"
        self.left = reason


class Stations:
    """Running stations, and a record of their changes."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.running = RunningStations(self.hub)
        self.created: list[FakeStation] = []
        self.changes: list[str] = []
        """`+id` when a station was added, `-id` when it was released."""
        self.companions: list[str] = []
        """Stations with a running companion task."""

    def make(self, config: StationConfig, origin: Origin) -> Station:
        self.created.append(FakeStation(config))
        return cast("Station", self.created[-1])

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
        assert {station.id for station in self.created if station.runs} == set(self.running)
        return {name: running.config.folder for name, running in self.running.items()}

    async def apply(self, *stations: tuple[str, str]) -> None:
        """Apply configured stations, given as id and folder."""
        await self.running.apply([config(*station) for station in stations], "configured")
        await wait_all_tasks_blocked()


def config(station: str, folder: str, name: str = "") -> StationConfig:
    return StationConfig(id=station, folder=folder, name=name)


@asynccontextmanager
async def running_stations() -> AsyncIterator[Stations]:
    stations = Stations()
    async with trio.open_nursery() as nursery:
        await nursery.start(stations.running.run, stations.make, stations.start_companions, stations.release)
        yield stations
        nursery.cancel_scope.cancel()


async def test_unchanged_stations_are_not_touched() -> None:
    async with running_stations() as stations:
        await stations.apply(("a", "/a"), ("b", "/b"), ("c", "/c"))
        assert stations.now == {"a": "/a", "b": "/b", "c": "/c"}
        same = stations.running["b"].station
        await stations.apply(("d", "/d"), ("b", "/b"), ("c", "/elsewhere"))
        assert stations.now == {"b": "/b", "c": "/elsewhere", "d": "/d"}
        assert stations.running["b"].station is same
        assert stations.changes == ["+a", "+b", "+c", "-a", "+d", "-c", "+c"]
        assert sorted(stations.companions) == ["b", "c", "d"]
        assert [station.left for station in stations.created if station.left] == ["removed", "changed"]


async def test_renamed_station_is_not_restarted() -> None:
    async with running_stations() as stations:
        await stations.running.apply([config("a", "/a")], "configured")
        await stations.running.apply([config("a", "/a", "Top 8")], "configured")
        assert stations.running["a"].station.name == "Top 8"
        await stations.running.apply([config("a", "/a")], "configured")
        assert stations.running["a"].station.name == "a"
        assert len(stations.created) == 1


async def test_station_of_a_console_that_has_just_been_configured_is_not_removed() -> None:
    async with running_stations() as stations:
        assert await stations.running.add(config("wii", "/wii"))
        await wait_all_tasks_blocked()
        removed: list[bool] = []

        async def remove() -> None:
            removed.append(await stations.running.remove("wii", origin="discovered"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stations.apply, ("wii", "/mine"))
            await trio.lowlevel.checkpoint()
            nursery.start_soon(remove)
        assert (removed, stations.now) == ([False], {"wii": "/mine"})
        assert await stations.running.remove("wii", origin="configured")
        assert stations.now == {}


async def test_temporary_station_is_shown_but_not_lasting() -> None:
    async with running_stations() as stations:
        await stations.running.apply([config("a", "/a")], "configured")
        assert await stations.running.add(config("demo", "/tmp/demo"), "temporary")
        assert [station.id for station in stations.running.stations] == ["a", "demo"]
        assert [station.id for station in stations.running.lasting_stations] == ["a"]
        assert [stations.running.is_temporary(station) for station in ("a", "demo", "b")] == [False, True, False]


async def test_each_origin_changes_its_own_stations() -> None:
    async with running_stations() as stations:
        await stations.apply(("a", "/a"))
        assert await stations.running.add(config("wii", "/wii"))
        assert not await stations.running.add(config("a", "/other")), "a configured station takes precedence"
        assert not await stations.running.add(config("wii", "/other")), "the id is in use"
        await stations.running.apply([config("sub", "/sub"), config("a", "/sub2")], "subfolder")
        await wait_all_tasks_blocked()
        assert stations.now == {"a": "/a", "wii": "/wii", "sub": "/sub"}
        await stations.apply(("a", "/a"), ("wii", "/mine"))
        assert stations.now == {"a": "/a", "wii": "/mine", "sub": "/sub"}, (
            "the configured station takes the id from a discovered one"
        )
        await stations.running.apply([], "subfolder")
        assert stations.now == {"a": "/a", "wii": "/mine"}
        await stations.running.remove("a")
        await stations.running.remove("a")
        assert stations.now == {"wii": "/mine"}


async def until(expected: object, stations: Stations) -> None:
    """Wait until the running stations have these ids and folders."""
    with trio.fail_after(TIMEOUT_SECONDS):
        while {name: running.config.folder for name, running in stations.running.items()} != expected:
            await trio.sleep(0.01)
        await wait_all_tasks_blocked()
    assert stations.now == expected


async def test_subfolders_come_and_go(tmp_path: Path) -> None:
    root = tmp_path / "consoles"
    for name in ("Wii 1", "Wii_2", ".hidden", "Wii/1"):
        (root / name).mkdir(parents=True)
    (root / "a file").touch()
    explicit = tmp_path / "consoles" / "Wii_2"
    async with running_stations() as stations, trio.open_nursery() as nursery:
        configs = [config("*", str(root)), config("main", str(explicit))]
        subfolders = Subfolders(stations.running, scan_seconds=0.05, offline_seconds=0.5, look_seconds=0.02)
        await stations.running.apply([configs[1]], "configured")
        subfolders.configure(configs)
        nursery.start_soon(subfolders.run)
        main = {"main": str(explicit)}
        await until({**main, "Wii-1": str(root / "Wii 1"), "Wii": str(root / "Wii")}, stations)
        assert stations.running["Wii-1"].station.name == "Wii 1"

        (root / "Wii?1").mkdir()
        (root / "main").mkdir()
        both = {"Wii-1-2": str(root / "Wii?1"), "main-2": str(root / "main")}
        await until({**main, "Wii-1": str(root / "Wii 1"), "Wii": str(root / "Wii"), **both}, stations)

        began = trio.current_time()
        (root / "Wii 1").rmdir()
        await until({**main, "Wii": str(root / "Wii"), **both}, stations)
        assert trio.current_time() - began >= 0.4, "the station is offline for a while first"

        root.rename(tmp_path / "away")  # like a network share that is temporarily gone
        await trio.sleep(0.7)
        assert len(stations.now) == 4
        (tmp_path / "away").rename(root)
        (root / "Wii 1").mkdir()  # returns under its old id
        await until({**main, "Wii": str(root / "Wii"), **both, "Wii-1": str(root / "Wii 1")}, stations)

        untouched = stations.running["Wii"].station
        again = [*configs, config("Wii-1", str(root / "main"))]
        await stations.running.apply(again[1:], "configured")
        subfolders.configure(again)
        here = {**main, "Wii": str(root / "Wii"), "Wii-1": str(root / "main"), "Wii-1-2": str(root / "Wii?1")}
        await until({**here, "Wii-1-3": str(root / "Wii 1")}, stations)
        assert stations.running["Wii"].station is untouched

        subfolders.configure(again[1:])
        await until({**main, "Wii-1": str(root / "main")}, stations)
        nursery.cancel_scope.cancel()


async def test_links_to_followed_folders_and_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for folder in (root / "one" / "deep", root / ".hidden", elsewhere):
        folder.mkdir(parents=True)
    links = {
        "a": (root, "a link to a folder that is followed already"),
        "b": (root / "one", "a link to a folder that is followed already"),
        "c": (root / "one" / "deep", "a link to a folder that is followed already"),
        "d": (elsewhere, "a link out of the folder"),
        "e": (tmp_path, "a link out of the folder"),
        "y": (root / ".hidden", None),
        "z": (root / ".hidden", "a link to a folder that is followed already"),
    }
    for name, (target, _) in links.items():
        (root / name).symlink_to(target)
    (tmp_path / "entry").symlink_to(root)
    for entry in (root, tmp_path / "entry"):
        found = list_subfolders([entry])
        assert found.folders == {entry / "one": root / "one", entry / "y": root / ".hidden"}
        assert found.refused == {entry / name: reason for name, (_, reason) in links.items() if reason is not None}


async def test_refused_link_is_logged_once_and_a_returning_subfolder_gets_a_free_id(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "one").mkdir(parents=True)
    (root / "two").mkdir()
    async with running_stations() as stations, trio.open_nursery() as nursery:
        subfolders = Subfolders(stations.running, scan_seconds=0.02, offline_seconds=0.1, look_seconds=0.01)
        subfolders.configure([config("*", str(root))])
        nursery.start_soon(subfolders.run)
        one, two = {"one": str(root / "one")}, {"two": str(root / "two")}
        await until({**one, **two}, stations)
        with capture_logs() as logs:
            (root / "two").rmdir()
            (root / "two").symlink_to(tmp_path)  # not followed for a moment longer
            await until(one, stations)
            await trio.sleep(0.2)
        [line] = [line for line in logs if line["event"] == "subfolder refused"]
        assert (line["folder"], line["what"]) == (two["two"], "a link out of the folder")
        (root / "one").rmdir()
        await until({}, stations)
        assert await stations.running.add(config("one", "/console"))
        (root / "one").mkdir()
        await until({"one": "/console", "one-2": one["one"]}, stations)
        nursery.cancel_scope.cancel()


async def test_missing_folder_is_logged_as_offline_and_not_as_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "missing"

    def events() -> list[str]:
        return [line["event"] for line in logs]

    with capture_logs() as logs:
        async with running_station(folder) as station:
            await until_true(lambda: station.state == "offline")
            assert "folder scanned" not in events()
            folder.mkdir()
            await until_true(lambda: station.state != "offline")
        async with running_station(folder):
            assert events().count("folder scanned") == 1


async def test_link_loop_is_an_unreadable_folder(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    loop = str(tmp_path / "round")
    async with running_stations() as stations, trio.open_nursery() as nursery:
        configs = [config("main", loop), config("*", loop)]
        subfolders = Subfolders(stations.running, scan_seconds=1.0)
        await stations.running.apply(configs[:1], "configured")
        subfolders.configure(configs)
        nursery.start_soon(subfolders.run)
        with trio.fail_after(TIMEOUT_SECONDS):
            await subfolders.looked.wait()
        assert stations.now == {"main": loop}
        assert subfolders.unreadable == {Path(loop)}
        nursery.cancel_scope.cancel()
