"""The index under trio: events are written, old files are read, and nothing that goes wrong with the disk stops it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.model.errors import FormatError, Unreadable
from slpstream.model.events import Event
from slpstream.store import FILE_NAME, Database, GameIndex, GameRecord, Wanted, open_database
from tests.store import made

pytestmark = pytest.mark.trio


class Disk:
    """Old files that say their number, and what was read of them."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, path: Path) -> GameRecord:
        self.read.append(path.name)
        if path.suffix == ".bad":
            raise FormatError("not a replay", offset=0)
        if path.suffix == ".gone":
            raise Unreadable(str(path), "no such file")
        number = int(path.stem)
        return made.record(made.start(number), made.end())


@asynccontextmanager
async def indexed(folder: Path, read: Any = None) -> AsyncIterator[tuple[GameIndex, list[int]]]:
    """A running index, and a list that grows with its errors."""
    errors: list[int] = []
    index = GameIndex(open_database(folder / FILE_NAME), read, on_error=lambda: errors.append(1))
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            yield index, errors
            nursery.cancel_scope.cancel()


async def ids(index: GameIndex) -> list[int]:
    await index.written()
    return [int(game.game_id, 16) for game in (await index.page(Wanted(), None, 100)).games]


def played(index: GameIndex, number: int, *events: Event, at: int = made.DAY_ONE) -> None:
    path = Path(f"/replays/{number}.slp")
    index.played("main", path, at * made.SECOND, 10, made.record(*events))


async def test_what_is_played_is_there(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, errors):
        played(index, 1, made.start(1))
        assert await ids(index) == [1]
        played(index, 1, made.start(1), made.stats(), made.end())
        played(index, 1, made.start(1), made.stats(), made.end(), made.metadata())
        played(index, 1, made.start(1), made.stats(), made.end(), made.metadata(), at=made.DAY_ONE + 9)
        await index.written()
        game = await index.game(made.game_id(1))
        assert game is not None
        assert game.row.reason == "game_end"
        assert game.details.metadata is not None
        assert game.details.stats is not None
        assert game.files[0].mtime_ns == (made.DAY_ONE + 9) * made.SECOND
        index.gone(Path("/replays/1.slp"))
        assert await ids(index) == []
        assert index.games == 0
        assert not errors


async def test_what_was_said_before_the_end_is_written(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, _):
        played(index, 1, made.start(1), made.end())
    async with indexed(tmp_path) as (index, _):
        assert await ids(index) == [1]


async def test_old_files_are_read_once_and_again_when_they_have_changed(tmp_path: Path) -> None:
    files = [(Path(f"/old/{n}.slp"), n * made.SECOND, 5) for n in range(1, 80)]
    disk = Disk()
    async with indexed(tmp_path, disk) as (index, errors):
        index.listed("main", [*files, (Path("/old/x.bad"), 1, 1), (Path("/old/y.gone"), 1, 1)])
        while index.waiting_files or len(await ids(index)) < 79:
            await trio.sleep(0.005)
        assert disk.read[:2] == ["79.slp", "78.slp"], "the newest first"
        assert len(disk.read) == 81
        assert not errors
    again = Disk()
    async with indexed(tmp_path, again) as (index, _):
        changed = [(path, mtime + (path.stem == "7"), size) for path, mtime, size in files]
        index.listed("main", changed)
        while index.waiting_files or not again.read:
            await trio.sleep(0.005)
        assert again.read == ["7.slp"]
        index.listed("main", changed[:10])  # the others are not there any more, and not on the disk either
        while len(await ids(index)) > 10:
            await trio.sleep(0.005)


async def test_what_the_station_says_counts_more_than_what_is_read_behind_its_back(tmp_path: Path) -> None:
    async with indexed(tmp_path, Disk()) as (index, _):
        index.listed("main", [(Path("/replays/3.slp"), 4 * made.SECOND, 10)])
        played(index, 3, made.start(3, "carl"), made.end(), at=5)
        await index.written()
        while index.waiting_files:
            await trio.sleep(0.005)
        await index.written()
        page = await index.page(Wanted(player="carl"), None, 10)
        assert len(page.games) == 1


async def test_without_reading_old_files(tmp_path: Path) -> None:
    async with indexed(tmp_path) as (index, _):
        index.listed("main", [(Path("/old/1.slp"), 1, 1)])
        assert index.waiting_files == 0
        assert await ids(index) == []


async def test_a_disk_that_is_full_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with indexed(tmp_path) as (index, errors):
        with monkeypatch.context() as full:

            def fail(*_: object) -> None:
                raise sqlite3.OperationalError("database or disk is full")

            full.setattr(Database, "put", fail)
            played(index, 1, made.start(1))
            await index.written()
        assert errors == [1]
        played(index, 2, made.start(2))
        assert await ids(index) == [2]


async def fill(folder: Path) -> None:
    """An index of 300 games, which nobody has open any more."""
    async with indexed(folder) as (index, _):
        for number in range(300):
            played(index, number, made.start(number))
        await index.written()


async def test_damage_that_is_noticed_late_begins_anew(tmp_path: Path) -> None:
    await fill(tmp_path)
    path = tmp_path / FILE_NAME
    async with indexed(tmp_path) as (index, errors):
        spoil(path)
        assert (await index.page(Wanted(), None, 10)).games == []
        assert errors
        played(index, 7, made.start(7))
        assert await ids(index) == [7]
    assert list(tmp_path.glob(f"{FILE_NAME}.damaged-*"))


def spoil(path: Path) -> None:
    """Under the feet of whoever has it open."""
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(len(data) - 100))


async def test_damage_that_many_meet_at_once_begins_anew_once(tmp_path: Path) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        await fill(folder)
        async with indexed(folder) as (index, errors):
            spoil(folder / FILE_NAME)
            async with trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(index.page, Wanted(), None, 10)
                played(index, 6, made.start(6))
            await index.written()
            assert errors
            played(index, 7, made.start(7))
            assert 7 in await ids(index)
        aside = [path for path in folder.glob(f"{FILE_NAME}.damaged-*") if path.name[-4:] not in ("-wal", "-shm")]
        assert len(aside) == 1, "what was begun is not set aside too"


async def test_when_it_cannot_be_begun_again_the_games_go_on_and_it_is_tried_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(tmp_path)
    async with indexed(tmp_path) as (index, errors):
        spoil(tmp_path / FILE_NAME)
        with monkeypatch.context() as full:

            def fail(path: Path) -> Database:
                path.touch()
                raise sqlite3.OperationalError("database or disk is full")

            full.setattr("slpstream.store.index.open_database", fail)
            for _ in range(3):
                assert (await index.page(Wanted(), None, 10)).games == []
            played(index, 1, made.start(1))
            await index.written()
        before = len(errors)
        assert before > 3
        await index.keep_stats(made.game_id(1), b"{}")  # finds it closed, and mends it
        played(index, 7, made.start(7))
        assert await ids(index) == [7]
    assert len(list(tmp_path.glob(f"{FILE_NAME}.damaged-*"))) <= 3, "one database, and what belongs to it"
