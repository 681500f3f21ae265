"""The index under trio: games are written, old files are read, and errors of the disk do not stop it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from slpstream.model.errors import FormatError, Unreadable
from slpstream.model.events import Event
from slpstream.store import FILE_NAME, Database, GameIndex, GameRecord, GamesQuery, open_database
from slpstream.store.arrival_times import ArrivalTimes
from slpstream.store.tables.games import Games
from slpstream.store.tables.remembered import RememberedValues
from slpstream.system.internal_errors import InternalErrors
from tests.store import samples

pytestmark = pytest.mark.trio


class Disk:
    """Old files, each with the game of its number, and the names of the files that were read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, path: Path) -> GameRecord:
        self.read.append(path.name)
        if path.suffix == ".bad":
            raise FormatError("not a replay", offset=0)
        if path.suffix == ".gone":
            raise Unreadable(str(path), "no such file")
        number = int(path.stem)
        return samples.record(samples.start(number), samples.end())


@asynccontextmanager
async def indexed(folder: Path, read: Any = None) -> AsyncIterator[tuple[GameIndex, list[int]]]:
    """A running index, and a list with an item for each of its errors."""
    errors: list[int] = []
    index = GameIndex(open_database(folder / FILE_NAME), read, on_error=lambda: errors.append(1))
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            yield index, errors
            nursery.cancel_scope.cancel()


async def ids(index: GameIndex) -> list[int]:
    await index.written()
    return [int(game.game_id, 16) for game in (await index.page(GamesQuery(limit=100))).games]


def played(index: GameIndex, number: int, *events: Event, at: int = samples.DAY_ONE) -> None:
    path = Path(f"/replays/{number}.slp")
    index.played("main", path, at * samples.SECOND, 10, samples.record(*events))


async def test_files_that_are_in_the_cloud_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def read(path: Path) -> GameRecord:
        opened.append(path.name)
        return samples.record(samples.start(int(path.stem)))

    monkeypatch.setattr("slpstream.store.old_files.is_placeholder", lambda path: path.name == "1.slp")
    files = [(tmp_path / f"{number}.slp", samples.DAY_ONE * samples.SECOND, 10) for number in (1, 2)]
    async with indexed(tmp_path, read) as (index, _):
        index.listed("main", files)
        while index.games == 0 or index.waiting_files:
            await trio.sleep(0.01)
        assert opened == ["2.slp"]
        monkeypatch.undo()
        index.listed("main", files)
        while index.games < 2:
            await trio.sleep(0.01)
        assert opened == ["2.slp", "1.slp"]


@pytest.mark.slow
async def test_old_files_are_read_after_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures, known_files = [KeyError("a bug")], Games.known_files

    def fail_once(games: Games, station: str) -> Any:
        if failures:
            raise failures.pop()
        return known_files(games, station)

    monkeypatch.setattr(Games, "known_files", fail_once)
    index = GameIndex(open_database(tmp_path / FILE_NAME), Disk(), errors=InternalErrors(strict=False))
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            index.listed("main", [(tmp_path / "1.slp", samples.DAY_ONE * samples.SECOND, 10)])
            while index.games < 1 or index.waiting_files:
                await trio.sleep(0.01)
            assert not failures
            nursery.cancel_scope.cancel()


async def test_played_games_are_indexed(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, errors):
        played(index, 1, samples.start(1))
        assert await ids(index) == [1]
        played(index, 1, samples.start(1), samples.stats(), samples.end())
        played(index, 1, samples.start(1), samples.stats(), samples.end(), samples.metadata())
        played(index, 1, samples.start(1), samples.stats(), samples.end(), samples.metadata(), at=samples.DAY_ONE + 9)
        await index.written()
        game = await index.game(samples.game_id(1))
        assert game is not None
        assert (game.row.reason, game.row.last_frame) == ("game_end", 1676)
        assert game.row.started_at_ms == samples.DAY_ONE * 1000
        assert msgspec.json.decode(game.details.settings)["stageId"] == 3
        assert msgspec.json.decode(game.details.stats or "")["overall"] == [{"killCount": 4}]
        assert game.details.metadata is not None
        assert game.files[0].mtime_ns == (samples.DAY_ONE + 9) * samples.SECOND
        index.gone(Path("/replays/1.slp"))
        assert await ids(index) == []
        assert index.games == 0
        assert not errors


async def test_pending_games_are_written_at_shutdown(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, _):
        played(index, 1, samples.start(1), samples.end())
    async with indexed(tmp_path) as (index, _):
        assert await ids(index) == [1]


async def test_old_files_are_read_once_and_again_after_a_change(tmp_path: Path) -> None:
    files = [(Path(f"/old/{n}.slp"), n * samples.SECOND, 5) for n in range(1, 80)]
    disk = Disk()
    async with indexed(tmp_path, disk) as (index, errors):
        index.listed("main", [*files, (Path("/old/x.bad"), 1, 1), (Path("/old/y.gone"), 1, 1)])
        while index.waiting_files or len(await ids(index)) < 79:
            await trio.sleep(0.005)
        assert disk.read[:2] == ["79.slp", "78.slp"], "newest first"
        assert len(disk.read) == 81
        assert not errors
    again = Disk()
    async with indexed(tmp_path, again) as (index, _):
        changed = [(path, mtime + (path.stem == "7"), size) for path, mtime, size in files]
        index.listed("main", changed)
        while index.waiting_files or not again.read:
            await trio.sleep(0.005)
        assert again.read == ["7.slp"]
        index.listed("main", changed[:10])  # the other files no longer exist
        while len(await ids(index)) > 10:
            await trio.sleep(0.005)


async def test_report_of_a_station_takes_precedence_over_an_old_file(tmp_path: Path) -> None:
    async with indexed(tmp_path, Disk()) as (index, _):
        index.listed("main", [(Path("/replays/3.slp"), 4 * samples.SECOND, 10)])
        played(index, 3, samples.start(3, "carl"), samples.end(), at=5)
        await index.written()
        while index.waiting_files:
            await trio.sleep(0.005)
        await index.written()
        page = await index.page(GamesQuery(player="carl", limit=10))
        assert len(page.games) == 1


async def test_old_files_are_not_read_without_a_reader(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, _):
        index.listed("main", [(Path("/old/1.slp"), 1, 1)])
        assert index.waiting_files == 0
        assert await ids(index) == []


async def test_full_disk_does_not_stop_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with indexed(tmp_path) as (index, errors):
        with monkeypatch.context() as full:

            def fail(*_: object) -> None:
                raise sqlite3.OperationalError("database or disk is full")

            full.setattr(Games, "add", fail)
            played(index, 1, samples.start(1))
            await index.written()
        assert errors == [1]
        played(index, 2, samples.start(2))
        assert await ids(index) == [2]


async def test_calls_that_have_begun_end_before_the_database_is_closed(tmp_path: Path) -> None:
    begun, go_on, counts = trio.Event(), threading.Event(), []

    def count(database: Database) -> int:
        trio.from_thread.run_sync(begun.set)
        go_on.wait()
        return database.games.count()

    async def read() -> None:
        counts.append(await index.read(count))

    with trio.fail_after(10):
        async with trio.open_nursery() as reading, indexed(tmp_path) as (index, errors):
            played(index, 1, samples.start(1))
            await index.written()
            reading.start_soon(read)
            await begun.wait()
            reading.start_soon(release_when_idle, go_on)
    assert counts == [1]
    assert await index.game(samples.game_id(1)) is None, "calls that begin later find nothing"
    assert not errors


async def release_when_idle(event: threading.Event) -> None:
    """Set an event as soon as no task of the test can go on without it."""
    await trio.testing.wait_all_tasks_blocked()
    event.set()


@pytest.mark.parametrize("step_seconds", [50 * 365 * 86_400, -7200], ids=["forward", "back"])
async def test_arrivals_follow_a_clock_that_is_set(tmp_path: Path, step_seconds: int) -> None:
    clock = SettableClock(1_700_000_000.0)
    changed: list[str | None] = []
    arrivals = ArrivalTimes(wall_clock=lambda: clock.wall, steady_clock=lambda: clock.steady)
    index = GameIndex(open_database(tmp_path / FILE_NAME), None, on_change=changed.append, arrivals=arrivals)
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            for number in range(4):
                if number == 2:
                    clock.wall += step_seconds
                entry = samples.record(samples.start(number))
                path = Path(f"/replays/{number}.slp")
                index.played("main", path, 0, 10, entry, round(1000 * clock.wall))
                assert await ids(index) == list(range(number, -1, -1))
                clock.pass_time(300)
            assert None in changed, "the sets of all stations are made again"
            times = [game.arrived_at_ms for game in reversed(await index.played_on("main", 10))]
            nursery.cancel_scope.cancel()
    assert times == [1_700_000_000_000 + 1000 * (step_seconds + 300 * number) for number in range(4)]


class SettableClock:
    def __init__(self, wall: float) -> None:
        self.wall = wall
        self.steady = 7.0

    def pass_time(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


async def fill(folder: Path) -> None:
    """Create an index of 300 games and close it."""
    async with indexed(folder) as (index, _):
        for number in range(300):
            played(index, number, samples.start(number))
        await index.written()


async def test_game_whose_write_finds_damage_is_in_the_new_database(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with indexed(tmp_path) as (index, errors):
        spoil(tmp_path / FILE_NAME)
        played(index, 7, samples.start(7))
        assert await ids(index) == [7]
        assert errors


def spoil(path: Path) -> None:
    """Damage a database while it is open."""
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(len(data) - 100))


async def test_damage_found_by_many_calls_creates_one_new_database(tmp_path: Path) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        await fill(folder)
        async with indexed(folder) as (index, errors):
            spoil(folder / FILE_NAME)
            async with trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(index.page, GamesQuery(limit=10))
                played(index, 6, samples.start(6))
            await index.written()
            assert errors
            played(index, 7, samples.start(7))
            assert 7 in await ids(index)
        aside = [path for path in folder.glob(f"{FILE_NAME}.damaged-*") if path.name[-4:] not in ("-wal", "-shm")]
        assert len(aside) == 1, "the new database is not set aside too"


async def test_failed_new_database_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(tmp_path)
    async with indexed(tmp_path) as (index, errors):
        spoil(tmp_path / FILE_NAME)
        with monkeypatch.context() as full:

            def fail(path: Path) -> Database:
                path.touch()
                raise sqlite3.OperationalError("database or disk is full")

            full.setattr("slpstream.store.live_database.open_database", fail)
            for _ in range(3):
                assert (await index.page(GamesQuery(limit=10))).games == []
            played(index, 1, samples.start(1))
            await index.written()
        before = len(errors)
        assert before > 3
        await index.keep_stats(samples.game_id(1), b"{}")  # finds the database closed, and creates a new one
        played(index, 7, samples.start(7))
        assert await ids(index) == [7]
    assert len(list(tmp_path.glob(f"{FILE_NAME}.damaged-*"))) <= 3, "one database with its two other files"


async def test_remembered_values_survive_a_restart(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, _):
        assert await index.remembered("on_air") is None
        index.remember("on_air", {"station": "main"})
        index.remember("gone", [1, 2])
        assert await index.remembered("on_air") == {"station": "main"}, "before it is written"
        await index.written()
        index.remember("gone", None)
        index.remember("on_air", {"station": "Ünal"})
    async with indexed(tmp_path) as (index, errors):
        assert await index.remembered("on_air") == {"station": "Ünal"}
        assert await index.remembered("gone") is None
        assert not errors


async def test_remembered_values_are_in_the_database_that_replaces_a_damaged_one(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with indexed(tmp_path) as (index, _):
        index.remember("on_air", "main")
        await index.written()
        spoil(tmp_path / FILE_NAME)
        assert (await index.page(GamesQuery(limit=10))).games == []
    async with indexed(tmp_path) as (index, _):
        assert await index.remembered("on_air") == "main"


async def test_remembered_values_are_written_when_the_database_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / FILE_NAME
    monkeypatch.setattr("slpstream.store.index.RETRY_SECONDS", 0.05)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async with indexed(tmp_path) as (index, errors):
        with monkeypatch.context() as full:
            full.setattr(RememberedValues, "keep", fail)
            index.remember("on_air", "main")
            await index.written()
            assert errors
            assert index.trouble is not None
            assert await index.remembered("on_air") == "main"
        with closing(Database(path)) as other:
            assert other.remembered.get("on_air") is None
            while other.remembered.get("on_air") is None:
                await trio.sleep(0.02)
            assert other.remembered.get("on_air") == b'"main"'
        assert index.trouble is None
