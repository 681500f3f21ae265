"""The export of sets in one process. The index, its threads and the files are real; nothing is served."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from slpstream.api import open_replay, read_game
from slpstream.config import Config
from slpstream.daemon.stations import RunningStations
from slpstream.model.bracket_facts import SetContext
from slpstream.parts.handover import archive
from slpstream.parts.handover.handed_set import HandedSet
from slpstream.parts.handover.handover import ReplayZips
from slpstream.parts.handover.part import Handover
from slpstream.parts.interface import Host
from slpstream.parts.services import SetContexts
from slpstream.sets import SetPatch
from slpstream.store import FILE_NAME, GameIndex, open_database
from slpstream.stream.channel import Channel
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.member_paths import member_path
from tests.daemons.hosts import host_of
from tests.daemons.sets import no_archive
from tests.daemons.station import TIMEOUT_SECONDS
from tests.parts.handover.validator import document, problems
from tests.sets.games import ANN_AND_BOB, DAY, NO_CONTEST, replay

NAME = "Ann (Fox) vs Bob (Fox)"

pytestmark = pytest.mark.trio


class AllStations(RunningStations):
    """All stations exist."""

    def __contains__(self, station: object) -> bool:
        return True


class Facts:
    """The facts of a bracket about two sets."""

    has_looked = True

    def __init__(self, known: Mapping[tuple[str, str], SetContext]) -> None:
        self.known = known

    def context_of(self, station: str, set_id: str) -> SetContext | None:
        return self.known.get((station, set_id))


class Venue:
    """Stations with their folders, and the zips of their sets."""

    def __init__(self, host: Host, folder: Path, handover: ReplayZips) -> None:
        self.host = host
        self.folder = folder
        self.index = host.index
        self.board = host.sets
        self.metrics = host.metrics
        self.handover = handover

    def write(self, minute: float, winner: int | None = 0, *, station: str = "main") -> Path:
        """Write a complete game into the folder of a station. Without a winner, it is a handwarmer."""
        path = self.folder / station / f"Game_{minute}.slp"
        path.parent.mkdir(exist_ok=True)
        if winner is None:
            data = replay(ANN_AND_BOB, {0: 4, 1: 4}, seconds=10, minute=minute, method=NO_CONTEST, quitter=1)
        else:
            left = {0: 2 * (winner == 0), 1: 2 * (winner == 1)}
            data = replay(ANN_AND_BOB, left, seconds=40, minute=minute)
        path.write_bytes(data)
        return path

    def play(
        self, minute: float, winner: int | None = 0, *, station: str = "main", written_at: float | None = None
    ) -> Path:
        """Write a game as `write` does, and index it."""
        path = self.write(minute, winner, station=station)
        written_at = time.time() if written_at is None else written_at
        os.utime(path, (written_at, written_at))
        status = path.stat()
        self.index.played(station, path, status.st_mtime_ns, status.st_size, read_game(path).record())
        return path

    def pack(self, paths: Sequence[Path], station: str = "main") -> None:
        """Add copies of games in an archive, which is newer than all files."""
        night = self.folder / station / "night.zip"
        night.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(night, "w") as packed:
            for path in paths:
                packed.write(path, path.name)
        mtime_ns = time.time_ns() + 1_000_000_000
        for path in paths:
            record, member = read_game(path).record(), member_path(night, path.name)
            self.index.played(station, member, mtime_ns, path.stat().st_size + 1, record)

    def play_set(self, minute: float, *, station: str = "main", written_at: float | None = None) -> list[Path]:
        """Play two games, which decide a set."""
        return [self.play(minute + 5 * number, station=station, written_at=written_at) for number in range(2)]

    def zips(self) -> dict[str, list[str]]:
        """The names of the zips, with those of their members."""
        found = sorted((self.folder / "zips").glob("[!.]*.zip"))
        return {path.name: zipfile.ZipFile(path).namelist() for path in found}

    def failed(self) -> bool:
        """Whether a zip could not be written."""
        return b"slpstream_handover_failures_total 0.0" not in self.metrics.render()

    async def until(self, condition: Callable[[], object]) -> None:
        with trio.fail_after(TIMEOUT_SECONDS):
            while not condition():
                await trio.sleep(0.01)

    async def until_done(self, count: int) -> None:
        """Wait until this many sets are done."""
        with trio.fail_after(TIMEOUT_SECONDS):
            while len((await self.index.remembered("handover") or {"done": []})["done"]) < count:
                await trio.sleep(0.01)


@asynccontextmanager
async def venue(
    folder: Path,
    *stations: str,
    delay_seconds: float = 0.0,
    knows_sets: Callable[[], bool] = lambda: True,
    is_running: bool = True,
) -> AsyncIterator[Venue]:
    wanted = Handover(folder=str(folder / "zips"), delay_seconds=delay_seconds)
    host = host_of(Config(parts={"handover": [wanted]}))
    host.errors = InternalErrors(strict=False)
    host.stations = AllStations(host.hub)
    host.has_read_old_files = knows_sets  # type: ignore[method-assign]
    for station in stations or ("main",):
        host.hub.add(Channel(station, no_archive))
    board = host.sets
    handover = ReplayZips(host, retry_seconds=0.02, look_pause_seconds=0.02)

    def games_changed(station: str | None) -> None:
        board.changed(station)
        if station is not None:
            handover.games_changed(station)

    host.index = index = GameIndex(open_database(folder / FILE_NAME), None, on_change=games_changed)
    handover.open()
    board.listen(handover.set_changed)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        nursery.start_soon(board.run, index)
        if is_running:
            nursery.start_soon(handover.run)
        yield Venue(host, folder, handover)
        nursery.cancel_scope.cancel()


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, station: str, error: Exception) -> Iterator[None]:
    """Let the zips of a station fail."""
    write = archive.write_zip_file

    def write_or_fail(target: Path, handed: HandedSet, *rest: Any, **options: Any) -> int:
        if handed.members[0].replay.paths[0].parent.name == station:
            raise error
        return write(target, handed, *rest, **options)

    with monkeypatch.context() as patched:
        patched.setattr(archive, "write_zip_file", write_or_fail)
        yield


async def test_failed_zip_releases_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with venue(tmp_path, "first", "second") as here:
        with failing(monkeypatch, "first", OSError(28, "No space left on device")):
            here.play_set(0, station="first")
            await here.until(here.failed)
            here.play_set(0.5, station="second")
            await here.until(lambda: list(here.zips()) == [f"{NAME}.zip"])
        await here.until(lambda: here.handover.waiting == 0)
        assert list(here.zips()) == [f"{NAME} 2.zip", f"{NAME}.zip"], "it is tried again"
        assert b"slpstream_handover_zips_total 2.0" in here.metrics.render()
        with failing(monkeypatch, "first", ZeroDivisionError()):
            here.play_set(60, station="first")
            here.play_set(60.5, station="second")
            await here.until(lambda: list(here.zips()) == [f"{NAME} 2.zip", f"{NAME} 3.zip", f"{NAME}.zip"])
            await here.until(lambda: here.handover.waiting == 0)


async def test_interrupted_zip_keeps_its_name(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        remembered = {"done": [], "writing": {"0" * 32: f"{NAME.upper()}.zip"}, "waiting": {}}
        here.index.remember("handover", remembered)
        await here.index.written()
    async with venue(tmp_path) as here:
        here.play_set(0)
        await here.until(here.zips)
        assert list(here.zips()) == [f"{NAME} 2.zip"]


@pytest.mark.parametrize("year", [1970, 2150, 9999])
async def test_set_of_a_console_with_any_clock_is_exported(tmp_path: Path, year: int) -> None:
    minute = (datetime(year, 12, 31, 23, 50, tzinfo=UTC).timestamp() - DAY) / 60
    async with venue(tmp_path) as here:
        paths = here.play_set(round(minute))
        await here.until(lambda: [len(names) for names in here.zips().values()] == [3])
        game_id = open_replay(paths[0]).game_id
        found = await here.handover.replays("main", game_id)
        assert found is not None
        with found[1] as file:
            assert problems(file) == []


@pytest.mark.parametrize("gone", [False, pytest.param(True, marks=pytest.mark.parts("archives"))])
async def test_replays_that_are_also_in_an_archive(tmp_path: Path, gone: bool) -> None:
    async with venue(tmp_path) as here:
        first = here.play(0)
        here.pack([first])
        await here.index.written()
        stored = await here.index.game(open_replay(first).game_id)
        assert stored is not None
        assert len(stored.files) == 2
        if gone:
            first.unlink()
        here.play(5)
        await here.until(here.zips)
        assert problems(here.folder / "zips" / f"{NAME}.zip") == []


async def test_set_that_is_only_in_an_archive_is_not_exported_automatically(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        here.pack([here.write(minute, station="elsewhere") for minute in (0, 5)])
        await here.until_done(1)
        assert here.zips() == {}


async def test_set_without_replays_waits_for_them(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        first, second = here.play(0), tmp_path / "main" / "Game_5.slp"
        moved = first.rename(tmp_path / "moved.slp")
        here.play(5)
        second.unlink()
        await here.until(here.handover.not_ready)
        assert "none of its replays" in here.handover.not_ready()[0]
        assert here.zips() == {}
        moved.rename(first)
        await here.until(here.zips)
        assert [len(names) for names in here.zips().values()] == [1]
        await here.until(lambda: not here.handover.not_ready())


async def test_sets_that_ended_before_the_newest_one_are_exported(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        here.play(10)  # old games are read from the newest to the oldest
        here.play_set(0)
        await here.until(here.zips)
        here.play_set(-60, written_at=time.time() - 13 * 3600)
        here.play_set(-30)
        await here.until(lambda: len(here.zips()) == 2)
        await here.until(lambda: here.handover.waiting == 0)
        assert [len(names) for names in here.zips().values()] == [3, 3]


async def test_sets_that_ended_while_no_daemon_ran_are_exported_once(tmp_path: Path) -> None:
    async with venue(tmp_path, is_running=False) as here:
        here.play_set(0)
        here.play(10)
        await here.index.written()
    async with venue(tmp_path) as here:
        await here.until(here.zips)
    async with venue(tmp_path) as here:
        here.play_set(70)
        await here.until(lambda: len(here.zips()) == 2)
        await here.until(lambda: here.handover.waiting == 0)
        assert len(here.zips()) == 2


async def test_correction_that_ends_an_earlier_set_exports_it(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        here.play(0)
        undecided = open_replay(here.play(5, winner=1)).game_id
        here.play(70)
        await here.index.written()
        assert (await here.board.score("main")).state == "running"
        assert here.zips() == {}
        patch = msgspec.convert({"games": {undecided: {"winner": 0}}}, SetPatch)
        assert await here.board.correct("main", patch) is not None
        await here.until(here.zips)


async def test_correction_within_the_delay_reopens_the_set(tmp_path: Path) -> None:
    async with venue(tmp_path, delay_seconds=3600.0) as here:
        here.play_set(0)
        await here.until(lambda: here.handover.waiting == 1)
        assert await here.board.correct("main", msgspec.convert({"bestOf": 5}, SetPatch)) is not None
        await here.until(lambda: here.handover.waiting == 0)
        assert here.zips() == {}


async def test_set_whose_beginning_is_read_later_is_exported_as_a_whole(tmp_path: Path) -> None:
    async with venue(tmp_path, delay_seconds=3600.0) as here:
        for minute in (10, 5):
            here.play(minute)
        await here.until(lambda: here.handover.waiting == 1)
        here.play(0, winner=1)
        await here.until(lambda: here.handover.waiting == 2)
        await here.index.written()
    async with venue(tmp_path) as here:  # after a restart, waiting sets are exported without delay
        await here.until(here.zips)
        await here.until(lambda: here.handover.waiting == 0)
        assert [len(names) for names in here.zips().values()] == [4]


async def test_sets_are_exported_after_old_files_were_read(tmp_path: Path) -> None:
    read: list[Path] = []
    async with venue(tmp_path, knows_sets=lambda: bool(read)) as here:
        here.play_set(5)
        await here.index.written()
        assert (await here.board.score("main")).state == "over"
        first = here.play(0)  # now the second game of these three ends the set
        newest = open_replay(tmp_path / "main" / "Game_10.slp").game_id
        score = await here.board.score("main")
        assert (score.set_id, score.state) == (newest, "running")
        assert here.zips() == {}
        read.append(first)
        await here.until_done(1)
        await here.until(lambda: not here.handover.waiting)
        assert list(here.zips()) == [f"{NAME}.zip"]
        with zipfile.ZipFile(here.folder / "zips" / f"{NAME}.zip") as zipped:
            assert document(zipped)["startMs"] == round(1000 * DAY), "it begins with the game that was read last"


async def test_zip_requested_by_a_later_game_has_the_facts_of_the_bracket(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        first, second = (open_replay(path).game_id for path in here.play_set(0))
        known = {("main", first): SetContext({"startgg": {"event": {"id": 1}}})}
        here.host.provide(SetContexts, Facts(known))
        await here.index.written()
        for game_id in (first, second):
            found = await here.handover.replays("main", game_id)
            assert found is not None
            with found[1] as file, zipfile.ZipFile(file) as zipped:
                assert document(zipped)["startgg"] == {"event": {"id": 1}}


async def test_zip_has_more_games_than_a_message_can_hold(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        here.play(0)
        for minute in range(2, 24):
            here.play(minute, winner=None)
        here.play(24)
        await here.until(here.zips)
        assert [len(names) for names in here.zips().values()] == [3]
