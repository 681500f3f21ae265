"""Finished games and their files: listings and lookups follow renames and removals, and removed files are forgotten."""

from __future__ import annotations

import errno
import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.api import messages
from slpstream.config import Watch
from slpstream.daemon.station.archive import Archive
from slpstream.daemon.station.followed_file import GamesByFile
from slpstream.daemon.station.station import SharedServices, Station
from slpstream.game.log_reader import GrowingLogReader, archived_game, peek_game_id
from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import START, Cursor, LogMessage, Position
from slpstream.sources.tail import FileIdentity, TailedFile
from slpstream.sources.tail.scan import scan_tree
from slpstream.stream import Game, LogConsumer
from slpstream.stream.log_consumer import ConsumerOffset
from slpstream.system.metrics import Metrics
from tests.daemons.station import TIMEOUT_SECONDS, running_station, until
from tests.synthetic.match import synthetic_match

IDLE_SECONDS = 0.2


@pytest.fixture(autouse=True)
def _short_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.station.station._TICK_SECONDS", 0.01)


quick_station = partial(running_station, stalled_seconds=0.1, idle_seconds=IDLE_SECONDS)


def names(station: Station) -> list[str]:
    """The names of the finished files, newest first."""
    assert station.describe()["files"]["finished"] == len(station.recordings())
    return [recording["file"] for recording in station.recordings()]


@pytest.mark.trio
async def test_finished_files_are_listed_under_their_current_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with quick_station(tmp_path) as station:
        for number in range(3):
            (tmp_path / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=130))
            await until(lambda: station.active_files == 0 and len(station.channel.games) == number + 1)  # noqa: B023
        assert sorted(names(station)) == ["Game_0.slp", "Game_1.slp", "Game_2.slp"]
        (tmp_path / "Game_0.slp").unlink()
        (tmp_path / "Game_1.slp").rename(tmp_path / "sub" / "moved.slp")
        await until(lambda: sorted(names(station)) == ["Game_2.slp", "sub/moved.slp"])
        (tmp_path / "Game_2.slp").write_bytes(synthetic_match(seed=5, frames=300))
        await until(lambda: len(station.channel.games) == 4)
        await until(lambda: sorted(names(station)) == ["Game_2.slp", "sub/moved.slp"])


def new_station(folder: Path) -> Station:
    """A station that has not started yet."""
    watch, shared = Watch(), SharedServices(trio.CapacityLimiter(1))
    return Station(
        "new", folder, name="", notifications=None, metrics=Metrics().station("new"), watch=watch, ring_bytes=1,
        shared=shared,
    )  # fmt: skip


@pytest.mark.trio
async def test_station_is_starting_until_its_folder_was_searched(tmp_path: Path) -> None:
    def starting(station: Station) -> tuple[object, object]:
        return station.describe().get("starting"), station.channel.state_message().get("starting")

    async with quick_station(tmp_path) as station:
        assert starting(station) == (None, None)
        assert station.state == "idle"
    async with quick_station(tmp_path / "missing") as station:
        await until(lambda: station.describe()["reason"] == "the folder is missing")
        assert starting(station) == (None, None)
    station = new_station(tmp_path)
    assert starting(station) == (True, True)
    assert not station.ready
    station.set_reachable("no route to the console")
    assert starting(station) == (None, None)


@pytest.mark.trio
async def test_station_is_starting_while_its_folder_is_searched_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a station that has not looked at it yet is not missing."""
    may_scan = threading.Event()

    def slow_scan(*arguments: Any, **options: Any) -> Any:
        may_scan.wait(TIMEOUT_SECONDS)
        return scan_tree(*arguments, **options)

    monkeypatch.setattr("slpstream.sources.tail.folder.scan_tree", slow_scan)
    station = new_station(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(station.run)
        await trio.sleep(0)
        for _ in range(3):
            await trio.sleep(0.05)  # longer than a tick, in which a station looks at the state of its folder
            described = station.describe()
            assert (described["reason"], described.get("starting"), station.starting) == ("starting", True, True)
        may_scan.set()
        await until(lambda: station.ready)
        assert not station.starting
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_station_that_follows_a_game_before_its_search_is_over_is_starting(tmp_path: Path) -> None:
    station = new_station(tmp_path)
    station._state.change("playing", "game in progress", "0" * 32)
    assert (station.ready, station.starting) == (False, True)
    assert "starting" not in station.describe(), "it is playing, as people see it"


@pytest.mark.trio
async def test_cursor_finds_a_renamed_game_but_not_a_removed_one(tmp_path: Path) -> None:
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    async with quick_station(tmp_path) as station:
        await until(lambda: len(names(station)) == 2)
        assert (await station.channel.locate(ids[1])).game_id == ids[1]
        (tmp_path / "Game_0.slp").rename(tmp_path / "renamed.slp")
        (tmp_path / "Game_1.slp").unlink()
        await until(lambda: names(station) == ["renamed.slp"])
        found = await station.channel.locate(ids[0])
        assert (await found.log_reader.messages("live", START))[0].type == "game_start"


@pytest.mark.trio
async def test_archive_forgets_removed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(3)]
    files = [tailed(tmp_path / f"Game_{number}.slp", number) for number in range(3)]
    listing = list(files)
    archive = Archive(tmp_path, trio.CapacityLimiter(1), lambda: tuple(listing))
    peeked: list[str] = []

    def peek(path: Path) -> str | None:
        peeked.append(path.name)
        return peek_game_id(path)

    monkeypatch.setattr("slpstream.daemon.station.archive.peek_game_id", peek)
    assert [game.game_id for game in await archive.games_from(ids[0])] == ids[::-1]
    listing.remove(files[1])
    assert [game.game_id for game in await archive.games_from(ids[0])] == [ids[2], ids[0]]
    assert len(peeked) == 3, "an unchanged file is read only once"
    with pytest.raises(NoSuchGame):
        await archive.games_from(ids[1])
    listing.append(files[1])
    assert len(await archive.games_from(ids[0])) == 3
    assert peeked[3:] == ["Game_1.slp"], "nothing about the removed file was cached"


@pytest.fixture
def peeked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were opened to look for a game."""
    names: list[str] = []

    def peek(path: Path) -> str | None:
        names.append(path.name)
        return peek_game_id(path)

    monkeypatch.setattr("slpstream.daemon.station.archive.peek_game_id", peek)
    return names


@pytest.mark.trio
async def test_many_unknown_cursors_share_one_search(tmp_path: Path, peeked: list[str]) -> None:
    count = 30
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(count)]
    files = tuple(tailed(tmp_path / f"Game_{number}.slp", number) for number in range(count))
    archive = Archive(tmp_path, trio.CapacityLimiter(4), lambda: files)
    missing: list[str] = []

    async def ask(game_id: str) -> None:
        with pytest.raises(NoSuchGame):
            await archive.games_from(game_id)
        missing.append(game_id)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(ask, f"{number:032x}")
    assert len(missing) == 20
    assert len(peeked) == count, "each file is opened once for all of them"
    assert len(await archive.games_from(ids[-1])) == 1


@pytest.mark.trio
async def test_search_asks_the_index_before_it_opens_files(
    tmp_path: Path, peeked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slpstream.daemon.station.archive._FEW_FILES", 2)
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(4)]
    listing = [tailed(tmp_path / f"Game_{number}.slp", number) for number in range(4)]

    async def stored_ids() -> dict[bytes, tuple[int, int, str]]:
        known = zip(listing[:3], ids, strict=False)
        rows = {os.fsencode(file.path): (file.mtime_ns, file.size_bytes, game_id) for file, game_id in known}
        path = os.fsencode(listing[1].path)
        return {**rows, path: (0, *rows[path][1:])}  # the file has changed since it was indexed

    archive = Archive(tmp_path, trio.CapacityLimiter(1), lambda: tuple(listing), stored_ids=stored_ids)
    with pytest.raises(NoSuchGame):
        await archive.games_from("0" * 32)
    assert sorted(peeked) == ["Game_1.slp", "Game_3.slp"]
    assert [game.game_id for game in await archive.games_from(ids[0])] == ids[::-1]


@pytest.mark.trio
async def test_game_is_found_as_soon_as_its_file_is_listed(tmp_path: Path) -> None:
    write_game(tmp_path / "Game_0.slp", 0)
    async with quick_station(tmp_path) as station:
        await until(lambda: len(names(station)) == 1)
        game_id = write_game(tmp_path / "elsewhere", 1)
        with pytest.raises(NoSuchGame):
            await station.channel.locate(game_id)
        (tmp_path / "elsewhere").rename(tmp_path / "Game_1.slp")
        await until(lambda: len(names(station)) == 2)
        assert (await station.channel.locate(game_id)).game_id == game_id


@pytest.mark.trio
async def test_search_occupies_a_thread_only_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tuple(tailed(tmp_path / f"Game_{number}.slp", number) for number in range(100))
    limiter = trio.CapacityLimiter(1)
    opened: list[Path] = []

    def peek(path: Path) -> None:
        time.sleep(0.01)  # a slow disk
        opened.append(path)

    monkeypatch.setattr("slpstream.daemon.station.archive.peek_game_id", peek)
    archive = Archive(tmp_path, limiter, lambda: files)

    async def ask() -> None:
        with pytest.raises(NoSuchGame):
            await archive.games_from("0" * 32)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await until(lambda: len(opened) > 0)
        await trio.to_thread.run_sync(bool, limiter=limiter)
        assert len(opened) < len(files), "another task had its turn in between"


@pytest.mark.trio
async def test_of_several_files_with_a_game_the_one_that_holds_most_counts(tmp_path: Path) -> None:
    """Copies that were cut off are newer than the whole files."""
    paths = [tmp_path / f"Game_{number}.slp" for number in range(4)]
    ids = [write_game(path, number) for number, path in enumerate(paths)]
    for number in (1, 2):
        copy = tmp_path / f"copy of {number}.slp"
        copy.write_bytes(paths[number].read_bytes()[: 9000 - 1000 * number])
        os.utime(copy, (1_000_010 + number,) * 2)
    async with quick_station(tmp_path) as station:
        await until(lambda: len(names(station)) == 6)
        whole = {path.name: [line.json() for line in messages(path)] for path in paths}
        for number in (2, 1, 0):
            game = await station.channel.locate(ids[number])
            assert len(await every_message(game)) == len(whole[f"Game_{number}.slp"])
        assert [game.game_id for game in station.channel.games] == ids


@pytest.mark.trio
async def test_cursor_finds_the_largest_file_of_an_unfinished_game(tmp_path: Path) -> None:
    data = synthetic_match(seed=1, frames=130)
    for number, size_bytes in enumerate((6000, 9000, 7000, 5000)):
        path = tmp_path / f"cut_{number}.slp"
        path.write_bytes(data[:size_bytes])
        os.utime(path, (1_000_000 + number,) * 2)
    async with quick_station(tmp_path) as station:
        await until(lambda: len(names(station)) == 4)
        game = await station.channel.locate(peek_game_id(tmp_path / "cut_0.slp") or "")
        assert game.order[2] == "cut_1.slp"


async def every_message(game: Game) -> list[LogMessage]:
    found: list[LogMessage] = []
    while messages := await game.log_reader.messages("live", found[-1].position if found else START):
        found += messages
    return found


@pytest.mark.trio
async def test_known_game_is_read_from_its_renamed_file(tmp_path: Path) -> None:
    """Tournament organisers rename files after a set, for instance."""
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    async with quick_station(tmp_path) as station:
        games = [await station.channel.locate(game_id) for game_id in ids]
        for number, game in enumerate(games):
            (tmp_path / f"Game_{number}.slp").rename(tmp_path / f"Grand Finals {number}.slp")
            await until(lambda: f"Grand Finals {number}.slp" in names(station))  # noqa: B023
            assert await station.channel.locate(game.game_id) is game
            assert (await game.log_reader.messages("live", START))[0].type == "game_start"


@pytest.mark.trio
async def test_temporarily_unreadable_files_lose_no_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.log_consumer._RETRY_SECONDS", 0.02)
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    whole = [line.json() for number in range(2) for line in messages(tmp_path / f"Game_{number}.slp")]
    received: list[bytes] = []
    reasons: list[str | None] = []
    full = True

    def peek(path: Path) -> str | None:
        if full:
            raise OSError(errno.EMFILE, "Too many open files")
        return peek_game_id(path)

    monkeypatch.setattr("slpstream.daemon.station.archive.peek_game_id", peek)
    async with quick_station(tmp_path) as station, trio.open_nursery() as nursery:
        with pytest.raises(CursorGone, match="Too many open files"):
            await station.channel.locate(ids[0])

        async def consume() -> None:
            offset = ConsumerOffset(Cursor(ids[0], "live", START))
            async for batch in LogConsumer(station.channel, offsets=[offset]):
                received.extend(message.json() for message in batch.messages)
                reasons.append(batch.gone)

        nursery.start_soon(consume)
        await trio.sleep(0.05)
        full = False
        await until(lambda: len(received) >= len(whole))
        assert received == whole
        assert not any(reasons)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_games_of_a_share_that_appears_later_are_consumed(tmp_path: Path) -> None:
    away, share = tmp_path / "away", tmp_path / "share"
    away.mkdir()
    ids = [write_game(away / f"Game_{number}.slp", number) for number in range(3)]
    received: list[str] = []
    async with quick_station(share) as station, trio.open_nursery() as nursery:
        assert station.state == "offline"

        async def consume() -> None:
            async for batch in LogConsumer(
                station.channel, offsets=[ConsumerOffset(Cursor(ids[0], "live", Position(10, 0)))]
            ):
                assert batch.gone is None
                if batch.game_id not in received:
                    received.append(batch.game_id)

        nursery.start_soon(consume)
        await trio.sleep(0.1)
        assert not received
        away.rename(share)
        await until(lambda: received == ids)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_fully_read_old_games_free_their_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [write_game(tmp_path / f"Game_{number:02}.slp", number) for number in range(12)]
    forgotten: list[str] = []
    monkeypatch.setattr(GrowingLogReader, "forget", lambda reader: forgotten.append(reader._game_id))
    async with quick_station(tmp_path) as station, trio.open_nursery() as nursery:
        for game_id in ids:
            await station.channel.locate(game_id)
        read: list[list[str]] = [[], []]

        async def consume(number: int) -> None:
            async for batch in LogConsumer(station.channel, offsets=[ConsumerOffset(Cursor(ids[0], "live", START))]):
                if batch.game_id not in read[number]:
                    read[number].append(batch.game_id)
                await trio.sleep(0.001 * number)

        for number in range(2):
            nursery.start_soon(consume, number)
        await until(lambda: set(forgotten) == set(ids))
        assert read == [ids, ids], "nothing is freed while another consumer still reads it"
        nursery.cancel_scope.cancel()


def test_games_by_file_keeps_games_that_can_continue() -> None:
    known, left, missing, ended = (known_game(number) for number in range(4))
    left.left = missing.left = True
    files = {game.game_id: tailed(Path(f"{n}.slp"), n) for n, game in enumerate((known, left, missing, ended))}
    by_file = GamesByFile()
    for game in (known, left, missing, ended):
        by_file.put(files[game.game_id], game)
    by_file.prune([known], lambda file: file is not files[missing.game_id])
    found = [by_file.find(files[game.game_id], game.game_id) for game in (known, left, missing, ended)]
    assert found == [known, left, None, None]
    by_file.forget(left)
    assert by_file.find(files[left.game_id], left.game_id) is None
    assert by_file.find(tailed(Path("another name.slp"), 0), known.game_id) is known


def write_game(path: Path, number: int) -> str:
    """Write a game that ended long ago and return its id; each number is a second later."""
    path.write_bytes(synthetic_match(seed=number, frames=130))
    os.utime(path, (1_000_000 + number,) * 2)
    game_id = peek_game_id(path)
    assert game_id is not None
    return game_id


def known_game(number: int) -> Game:
    return archived_game(lambda: Path(f"{number}.slp"), number, f"{number:032}", trio.CapacityLimiter(1))


def tailed(path: Path, number: int) -> TailedFile:
    return TailedFile(path, FileIdentity(1, number + 1), 1000, number)
