"""Recordings: occupied names, temporarily full disks, and the notices about them."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.parts.consoles.recorder import Recorder
from tests.parts.consoles.disks import Disk
from tests.parts.consoles.listeners import Notices, inline
from tests.parts.consoles.recordings import GAME, OTHER, recorded, recorder_of
from tests.parts.consoles.wii import raw_of


@asynccontextmanager
async def recording(
    folder: Path, notices: Notices, disk: Disk | None = None, *, max_unwritten_bytes: int = 1 << 20
) -> AsyncIterator[Recorder]:
    recorder = recorder_of(folder, notices, max_unwritten_bytes=max_unwritten_bytes, open_file=(disk or Disk()).open)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        yield recorder
        nursery.cancel_scope.cancel()


async def send(recorder: Recorder, data: bytes, *, size: int = 900, seconds: float = 0.1) -> None:
    for start in range(0, len(data), size):
        recorder.receive(data[start : start + size])
        await trio.sleep(seconds)


@pytest.mark.trio
async def test_games_of_one_second_on_a_full_disk_are_not_mixed(tmp_path: Path, autojump_clock: object) -> None:
    """The recordings of both wait for the disk."""
    notices, disk = Notices(), Disk()
    disk.failing = errno.ENOSPC
    async with recording(tmp_path, notices, disk) as recorder:
        recorder.receive(GAME + OTHER)
        await trio.sleep(3)
        games = [bytes(data)[15:] for data in notices.files.values()]
        assert [game[: len(raw)] for game, raw in zip(games, (GAME, OTHER), strict=True)] == [GAME, OTHER]
        assert len(set(notices.files)) == 2
        recorder.close_ended_game()
        await trio.sleep(60)
        assert recorded(tmp_path) == []
        disk.failing = None
        await trio.sleep(3)
    assert {path: raw_of(path.read_bytes()) for path in tmp_path.glob("*.slp")} == dict(
        zip(notices.files, (GAME, OTHER), strict=True)
    )


@pytest.mark.trio
async def test_repeated_game_is_recorded_once(tmp_path: Path, autojump_clock: object) -> None:
    async with recording(tmp_path, Notices()) as recorder:
        for end in (3000, 100, 20_000, len(GAME), 500, len(GAME)):
            recorder.restart()
            await send(recorder, GAME[:end], seconds=0.01)
        recorder.close_ended_game()
        await trio.sleep(1)
        recorder.restart()
        await send(recorder, GAME, seconds=0.01)
        await trio.sleep(1)
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME]


@pytest.mark.trio
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("begin", [0, 20_000])
async def test_temporarily_full_disk(tmp_path: Path, autojump_clock: object, begin: int, code: int) -> None:
    """The station receives everything immediately, and the file is complete in the end."""
    notices, disk = Notices(), Disk()
    disk.max_write_bytes = 777
    async with recording(tmp_path, notices, disk) as recorder:
        await send(recorder, GAME[:begin])
        await trio.sleep(1)
        disk.failing = code
        await send(recorder, GAME[begin:45_000])
        await trio.sleep(2)
        [path] = notices.files or [next(tmp_path.glob("*.slp"))]
        assert GAME[:45_000].startswith(bytes(notices.files[path][15:]))
        assert len(notices.files[path]) > 44_000, "all whole events"
        assert recorder.unwritten_bytes > 20_000
        assert notices.disk_errors == [f"writing to the disk failed: {os.strerror(code)}"]
        disk.failing = None
        await trio.sleep(2)
        assert notices.disk_errors[1:] == [None]
        assert recorder.unwritten_bytes == 0
        await send(recorder, GAME[45_000:])
        recorder.close_ended_game()
        await trio.sleep(1)
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME]
    assert disk.refused > 0
    assert not notices.gaps


@pytest.mark.trio
async def test_disk_that_stays_full(tmp_path: Path, autojump_clock: object) -> None:
    """Beyond the limit the game is streamed and no longer recorded. The file is a valid replay."""
    notices, disk = Notices(), Disk()
    async with recording(tmp_path, notices, disk, max_unwritten_bytes=20_000) as recorder:
        await send(recorder, GAME[:10_000])
        await trio.sleep(1)
        disk.failing = errno.ENOSPC
        await send(recorder, GAME[10_000:])
        assert recorder.unwritten_bytes < 25_000
        recorder.close_ended_game()
        [path] = notices.files
        assert bytes(notices.files[path][15 : 15 + len(GAME)]) == GAME, "streamed to its end"
        [(_, reason)] = notices.gaps
        assert "streamed only" in reason
        disk.failing = None
        await trio.sleep(3)
    [data] = recorded(tmp_path)
    assert GAME.startswith(raw_of(data))
    assert 28_000 < len(raw_of(data)) < 35_000
    path = tmp_path / "copy.slp"
    path.write_bytes(data)
    log = list(messages(path))
    assert all(b"frame_without_bookend" in m.body for m in log if m.type == "diagnostic"), "an incomplete frame at most"
    assert log[-1].type == "metadata"


@pytest.mark.trio
async def test_disk_that_hangs(tmp_path: Path, autojump_clock: object) -> None:
    """A write that does not return delays nothing: the station receives the pending bytes."""
    notices = Notices()
    hanging = trio.Event()
    hang = False

    async def in_thread(work: object) -> object:
        if hang:
            await hanging.wait()
        return await inline(work)  # type: ignore[arg-type]

    recorder = recorder_of(tmp_path, notices, in_thread=in_thread)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        await send(recorder, GAME[:10_000])
        hang = True
        await send(recorder, GAME[10_000:30_000])
        [path] = notices.files
        assert len(notices.files[path]) > 29_000
        assert notices.disk_errors == ["the disk does not answer"]
        hang = False
        hanging.set()
        await send(recorder, GAME[30_000:])
        recorder.close_ended_game()
        await trio.sleep(1)
        assert notices.disk_errors[-1] is None
        nursery.cancel_scope.cancel()
    assert [raw_of(data) for data in recorded(tmp_path)] == [GAME]


@pytest.mark.trio
async def test_truncated_recording_is_left_unchanged(tmp_path: Path, autojump_clock: object) -> None:
    """A cancelled recorder writes its pending bytes and closes no game. The next game is another one."""
    async with recording(tmp_path, Notices()) as recorder:
        recorder.receive(GAME[:30_000])
    [left] = recorded(tmp_path)
    assert left[11:15] == bytes(4)
    assert len(left) > 29_000
    assert GAME.startswith(left[15:])
    async with recording(tmp_path, Notices()) as recorder:
        await recorder.prepare()
        await send(recorder, OTHER)
        recorder.close_ended_game()
        await trio.sleep(1)
    assert recorded(tmp_path)[0] == left
    assert raw_of(recorded(tmp_path)[1]) == OTHER
