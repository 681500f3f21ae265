"""Recordings: names that are taken, disks that are full and get room again, and what is said of it."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.sources.console.recorder import Recorder
from tests.formats.slippi.built import Built
from tests.sources.console.disks import Disk
from tests.sources.console.listeners import Told, inline
from tests.sources.console.wii import raw_of

GAME = raw_of(Built().frames(-123, 60).end().closed())
OTHER = raw_of(Built(random_seed=9).frames(-123, -60).end().closed())


@asynccontextmanager
async def recording(
    folder: Path, told: Told, disk: Disk | None = None, *, max_unwritten_bytes: int = 1 << 20
) -> AsyncIterator[Recorder]:
    recorder = Recorder(
        folder,
        told,
        played_on="nintendont",
        max_unwritten_bytes=max_unwritten_bytes,
        in_thread=inline,
        wall_clock=lambda: 1_700_000_000.0,
        open_file=(disk or Disk()).open,
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        yield recorder
        nursery.cancel_scope.cancel()


async def send(recorder: Recorder, data: bytes, *, size: int = 900, seconds: float = 0.1) -> None:
    for at in range(0, len(data), size):
        recorder.receive(data[at : at + size])
        await trio.sleep(seconds)


def recorded(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("*.slp"), key=lambda path: (len(path.name), path.name))]


@pytest.mark.trio
async def test_games_of_one_second_are_not_mixed_past_the_disk(tmp_path: Path, autojump_clock: object) -> None:
    told, disk = Told(), Disk()
    disk.failing = errno.ENOSPC
    async with recording(tmp_path, told, disk) as recorder:
        recorder.receive(GAME + OTHER)
        await trio.sleep(3)
        games = [bytes(known)[15:] for known in told.known.values()]
        assert [game[: len(raw)] for game, raw in zip(games, (GAME, OTHER), strict=True)] == [GAME, OTHER]
        assert len(set(told.known)) == 2
        disk.failing = None
        recorder.rest()
        await trio.sleep(3)
    assert {path: raw_of(path.read_bytes()) for path in tmp_path.glob("*.slp")} == dict(
        zip(told.known, (GAME, OTHER), strict=True)
    )


@pytest.mark.trio
async def test_no_name_is_taken_twice(tmp_path: Path, autojump_clock: object) -> None:
    async with recording(tmp_path, Told()) as recorder:
        for game in (GAME, OTHER, raw_of(Built(random_seed=8).frames(-123, -100).end().closed())):
            await send(recorder, game)
        recorder.rest()
        await trio.sleep(1)
    assert len(recorded(tmp_path)) == 3
    assert [raw_of(data) for data in recorded(tmp_path)][:2] == [GAME, OTHER]


@pytest.mark.trio
async def test_a_game_that_is_sent_again(tmp_path: Path, autojump_clock: object) -> None:
    """From its beginning, in the middle and at its end: one recording."""
    async with recording(tmp_path, Told()) as recorder:
        for end in (3000, 100, 20_000, len(GAME), 500, len(GAME)):
            recorder.restart()
            await send(recorder, GAME[:end], seconds=0.01)
        recorder.rest()
        await trio.sleep(1)
        recorder.restart()
        await send(recorder, GAME, seconds=0.01)
        await trio.sleep(1)
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME]


@pytest.mark.trio
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("begin", [0, 20_000])
async def test_a_disk_that_is_full_for_a_while(tmp_path: Path, autojump_clock: object, begin: int, code: int) -> None:
    """The station is handed everything at once, and the file is whole in the end."""
    told, disk = Told(), Disk()
    disk.max_at_once = 777
    async with recording(tmp_path, told, disk) as recorder:
        await send(recorder, GAME[:begin])
        await trio.sleep(1)
        disk.failing = code
        await send(recorder, GAME[begin:45_000])
        await trio.sleep(2)
        [path] = told.known or [next(tmp_path.glob("*.slp"))]
        assert GAME[:45_000].startswith(bytes(told.known[path][15:]))
        assert len(told.known[path]) > 44_000, "all whole events"
        assert recorder.unwritten_bytes > 20_000
        assert told.troubles == [f"the disk takes no bytes: {os.strerror(code)}"]
        disk.failing = None
        await trio.sleep(2)
        assert told.troubles[1:] == [None]
        assert recorder.unwritten_bytes == 0
        await send(recorder, GAME[45_000:])
        recorder.rest()
        await trio.sleep(1)
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME]
    assert disk.refused > 0
    assert not told.gaps


@pytest.mark.trio
async def test_a_disk_that_has_room_after_the_game(tmp_path: Path, autojump_clock: object) -> None:
    """Recordings of more than one game wait for it."""
    told, disk = Told(), Disk()
    async with recording(tmp_path, told, disk) as recorder:
        disk.failing = errno.ENOSPC
        await send(recorder, GAME)
        recorder.rest()
        await send(recorder, OTHER)
        recorder.rest()
        await trio.sleep(60)
        assert recorded(tmp_path) == []
        disk.failing = None
        await trio.sleep(3)
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME, OTHER]


@pytest.mark.trio
async def test_a_disk_that_stays_full(tmp_path: Path, autojump_clock: object) -> None:
    """Beyond the bound the game is streamed, and not recorded any more; what was recorded is a replay."""
    told, disk = Told(), Disk()
    async with recording(tmp_path, told, disk, max_unwritten_bytes=20_000) as recorder:
        await send(recorder, GAME[:10_000])
        await trio.sleep(1)
        disk.failing = errno.ENOSPC
        await send(recorder, GAME[10_000:])
        assert recorder.unwritten_bytes < 25_000
        recorder.rest()
        [path] = told.known
        assert bytes(told.known[path][15 : 15 + len(GAME)]) == GAME, "streamed to its end"
        [(_, said)] = told.gaps
        assert "streamed only" in said
        disk.failing = None
        await trio.sleep(3)
    [data] = recorded(tmp_path)
    assert GAME.startswith(raw_of(data))
    assert 28_000 < len(raw_of(data)) < 35_000
    path = tmp_path / "copy.slp"
    path.write_bytes(data)
    said_of_it = list(messages(path))
    assert {b"frame_without_bookend" in m.body for m in said_of_it if m.type == "diagnostic"} <= {True}, "a cut frame"
    assert said_of_it[-1].type == "metadata"


@pytest.mark.trio
async def test_a_disk_that_hangs(tmp_path: Path, autojump_clock: object) -> None:
    """A write that does not return holds nobody: the station is handed what waits."""
    told = Told()
    hanging = trio.Event()
    hang = False

    async def in_thread(work: object) -> object:
        if hang:
            await hanging.wait()
        return await inline(work)  # type: ignore[arg-type]

    recorder = Recorder(
        tmp_path,
        told,
        played_on="nintendont",
        max_unwritten_bytes=1 << 20,
        in_thread=in_thread,
        wall_clock=lambda: 0.0,
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        await send(recorder, GAME[:10_000])
        hang = True
        await send(recorder, GAME[10_000:30_000])
        [path] = told.known
        assert len(told.known[path]) > 29_000
        assert told.troubles == ["the disk does not answer"]
        hang = False
        hanging.set()
        await send(recorder, GAME[30_000:])
        recorder.rest()
        await trio.sleep(1)
        assert told.troubles[-1] is None
        nursery.cancel_scope.cancel()
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME]


@pytest.mark.trio
async def test_an_end_without_notice(tmp_path: Path, autojump_clock: object) -> None:
    """A daemon that stops writes what it has, and closes no game."""
    async with recording(tmp_path, Told()) as recorder:
        recorder.receive(GAME[:30_000])
    [data] = recorded(tmp_path)
    assert data[11:15] == bytes(4)
    assert len(data) > 29_000
    assert GAME.startswith(data[15:])


@pytest.mark.trio
async def test_a_game_that_was_left_long_ago(tmp_path: Path, autojump_clock: object) -> None:
    """It did not go on, so it stays as it is: unfinished, as a game that crashed."""
    async with recording(tmp_path, Told()) as recorder:
        recorder.receive(GAME[:30_000])
    [left] = recorded(tmp_path)
    async with recording(tmp_path, Told()) as recorder:
        await recorder.prepare()
        await send(recorder, OTHER)
        recorder.rest()
        await trio.sleep(1)
    assert recorded(tmp_path)[0] == left
    assert raw_of(recorded(tmp_path)[1]) == OTHER
