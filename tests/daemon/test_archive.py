"""Finished games and their files: listings and lookups follow renames and removals, and removed files are forgotten."""

from __future__ import annotations

import errno
import os
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.station.archive import Archive
from slpstream.daemon.station.station import Station
from slpstream.game.log_reader import peek_game_id
from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import START, Cursor, Position
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity
from slpstream.sources.tail.scan import scan_tree
from slpstream.stream.log_consumer import ConsumerOffset, LogConsumer
from tests.daemons.played_game import game_id_of
from tests.daemons.station import TIMEOUT_SECONDS, new_context, running_station, until, whole_log
from tests.synthetic.match import synthetic_match

quick_station = partial(running_station, stalled_seconds=0.1, idle_seconds=0.2)


def names(station: Station) -> list[str]:
    """The names of the finished files, newest first."""
    assert station.describe()["files"]["finished"] == len(station.archive.newest())
    return [recording["file"] for recording in station.archive.newest()]


@pytest.mark.trio
async def test_finished_files_are_listed_under_their_current_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with quick_station(tmp_path) as station:
        for number in range(3):
            (tmp_path / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=130))
            await until(lambda: len(station.files) == 0 and len(station.channel.games) == number + 1)  # noqa: B023
        assert sorted(names(station)) == ["Game_0.slp", "Game_1.slp", "Game_2.slp"]
        (tmp_path / "Game_0.slp").unlink()
        (tmp_path / "Game_1.slp").rename(tmp_path / "sub" / "moved.slp")
        await until(lambda: sorted(names(station)) == ["Game_2.slp", "sub/moved.slp"])
        (tmp_path / "Game_2.slp").write_bytes(synthetic_match(seed=5, frames=300))
        await until(lambda: len(station.channel.games) == 4)
        await until(lambda: sorted(names(station)) == ["Game_2.slp", "sub/moved.slp"])


def new_station(folder: Path) -> Station:
    """A station that has not started yet."""
    return Station(new_context(folder))


@pytest.mark.trio
async def test_station_is_starting_until_its_folder_was_searched_or_is_known_to_be_missing(tmp_path: Path) -> None:
    def starting(station: Station) -> tuple[object, object]:
        return station.describe().get("starting"), station.channel.state_message().get("starting")

    async with quick_station(tmp_path) as station:
        assert (starting(station), station.state) == ((None, None), "idle")
    async with quick_station(tmp_path / "missing") as station:
        await until(lambda: station.describe()["reason"] == "the folder is missing")
        assert starting(station) == (None, None)
    station = new_station(tmp_path)
    assert (starting(station), station.ready) == ((True, True), False)
    station.status.set_reachable("no route to the console")
    assert starting(station) == (None, None)


@pytest.mark.trio
async def test_station_is_starting_while_its_folder_is_searched_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is not missing before its station has looked for it."""
    may_scan = threading.Event()

    def slow_scan(*arguments: Any, **options: Any) -> Any:
        may_scan.wait(TIMEOUT_SECONDS)
        return scan_tree(*arguments, **options)

    monkeypatch.setattr("slpstream.sources.tail.scanning.scan_tree", slow_scan)
    station = new_station(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(station.run)
        await trio.sleep(0)
        for _ in range(3):
            await trio.sleep(0.05)  # longer than a tick, the interval at which a station checks its folder
            described = station.describe()
            assert (described["reason"], described.get("starting"), station.starting) == ("starting", True, True)
        may_scan.set()
        await until(lambda: station.ready)
        assert not station.starting
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_cursor_finds_a_game_wherever_its_file_is(tmp_path: Path) -> None:
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    async with quick_station(tmp_path) as station:
        await until(lambda: len(names(station)) == 2)
        removed = await station.channel.locate(ids[1])
        assert removed.game_id == ids[1]
        (tmp_path / "Game_0.slp").rename(tmp_path / "Grand Finals.slp")
        (tmp_path / "Game_1.slp").unlink()
        later = write_game(tmp_path / "elsewhere", 2)
        await until(lambda: names(station) == ["Grand Finals.slp"])
        found = await station.channel.locate(ids[0])
        assert (await found.log_reader.messages("live", START))[0].type == "game_start"
        with pytest.raises(CursorGone):
            await removed.log_reader.messages("live", START)
        with pytest.raises(NoSuchGame):
            await station.channel.locate(later)
        (tmp_path / "elsewhere").rename(tmp_path / "Game_2.slp")
        await until(lambda: len(names(station)) == 2)
        assert (await station.channel.locate(later)).game_id == later, "it is found as soon as its file is listed"


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
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(30)]
    files = [tailed(tmp_path / f"Game_{number}.slp", number) for number in range(30)]
    archive = Archive(new_context(tmp_path), lambda: tuple(files))

    async def ask(game_id: str) -> None:
        with pytest.raises(NoSuchGame):
            await archive.games_from(game_id)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(ask, f"{number:032x}")
    assert len(peeked) == len(files), "each file is opened once for all of them"
    del files[1]
    assert len(await archive.games_from(ids[0])) == len(files)
    assert len(peeked) == 30, "an unchanged file is read only once"
    files.append(tailed(tmp_path / "Game_1.slp", 1))
    assert len(await archive.games_from(ids[0])) == len(files)
    assert peeked[30:] == ["Game_1.slp"], "a removed file is forgotten"


@pytest.mark.trio
async def test_search_of_many_files_asks_the_index_before_it_opens_them(tmp_path: Path, peeked: list[str]) -> None:
    ids = [write_game(tmp_path / f"Game_{number}.slp", number) for number in range(4)]
    missing = [tailed(tmp_path / f"missing_{number}.slp", 10 + number) for number in range(100)]
    listing = [tailed(tmp_path / f"Game_{number}.slp", number) for number in range(4)]

    async def stored_ids(station: str) -> dict[bytes, tuple[int, int, str]]:
        known = zip([*listing[:3], *missing], [*ids[:3], *(file.path.name for file in missing)], strict=True)
        rows = {os.fsencode(file.path): (file.mtime_ns, file.size_bytes, game_id) for file, game_id in known}
        path = os.fsencode(listing[1].path)
        return {**rows, path: (0, *rows[path][1:])}  # the file has changed since it was indexed

    index: Any = SimpleNamespace(game_ids=stored_ids)
    archive = Archive(new_context(tmp_path, index=index), lambda: (*listing, *missing))
    with pytest.raises(NoSuchGame):
        await archive.games_from("0" * 32)
    assert sorted(peeked) == ["Game_1.slp", "Game_3.slp"]
    found = await archive.games_from(ids[0])
    assert [game.game_id for game in found if game.game_id in ids] == ids[::-1]


@pytest.mark.trio
async def test_file_that_holds_most_of_a_game_counts(tmp_path: Path) -> None:
    """Truncated copies are newer than the complete files."""
    paths = [tmp_path / f"Game_{number}.slp" for number in range(3)]
    ids = [write_game(path, number) for number, path in enumerate(paths)]
    cut = synthetic_match(seed=9, frames=130)
    copies = [(f"copy of {number}.slp", paths[number].read_bytes()[: 9000 - 1000 * number]) for number in (1, 2)]
    copies += [(f"cut_{size_bytes}.slp", cut[:size_bytes]) for size_bytes in (6000, 9000, 7000, 5000)]
    for age, (name, data) in enumerate(copies):
        (tmp_path / name).write_bytes(data)
        os.utime(tmp_path / name, (1_000_010 + age,) * 2)
    async with quick_station(tmp_path) as station:
        await until(lambda: len(names(station)) == len(paths) + len(copies))
        for path, game_id in zip(paths, ids, strict=True):
            game = await station.channel.locate(game_id)
            assert len(await whole_log(game)) == len(list(messages(path)))
        game = await station.channel.locate(game_id_of(cut))
        assert game.order[2] == "cut_9000.slp", "a game without a whole file"


@pytest.mark.trio
async def test_temporarily_unreadable_files_lose_no_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.log_consumer.RETRY_SECONDS", 0.02)
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


def write_game(path: Path, number: int) -> str:
    """Write a game that ended long ago, each number a second later, and return its id."""
    path.write_bytes(synthetic_match(seed=number, frames=130))
    os.utime(path, (1_000_000 + number,) * 2)
    game_id = peek_game_id(path)
    assert game_id is not None
    return game_id


def tailed(path: Path, number: int) -> TailedFile:
    return TailedFile(path, FileIdentity(1, number + 1), 1000, number)
