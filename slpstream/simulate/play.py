"""Writes a replay into a folder the way a game does, in real time or faster.

The times of the schedule are absolute, so a slow disk or a busy machine delays single writes and not the whole match.
Writes happen in a thread; those that are due together go into one visit to the thread, each still a write of its own,
because the cuts are what a tail is tested with. A file that exists is never touched.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import trio

from slpstream.model.errors import SourceError
from slpstream.simulate.schedule import Write, schedule

_DUE_TOGETHER = 256
"""Writes of one visit to the thread at most, so that cancellation is never far."""


async def write_replay(
    data: bytes,
    target: Path,
    *,
    writer: str = "dolphin",
    speed: float = 1.0,
    task_status: trio.TaskStatus[Path] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Writes the replay `data` to the new file `target`; returns when it is complete and closed.

    `writer` and `speed` are those of `simulate.schedule`. `task_status` is told the path once the file exists, still
    empty. A cancelled call leaves the file as a crashed game would. Raises `SourceError` when the file exists already
    or cannot be written, `WrongFormat` when `data` is no replay, `ValueError` for an unknown writer or speed.
    """
    writes = schedule(data, writer, speed=speed)
    try:
        file = await trio.to_thread.run_sync(_create, target)
        try:
            task_status.started(target)
            await _play(file, writes)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(file.close)
    except FileExistsError as error:
        raise SourceError(str(target), "exists already and is not overwritten") from error
    except OSError as error:
        raise SourceError(str(target), f"cannot be written: {error.strerror or error}") from error


async def _play(file: io.FileIO, writes: Iterator[Write]) -> None:
    began = trio.current_time()
    ahead = next(writes, None)
    while ahead is not None:
        await trio.sleep_until(began + ahead.at_seconds)
        now = trio.current_time() - began
        due = [ahead]
        ahead = next(writes, None)
        while ahead is not None and ahead.at_seconds <= now and len(due) < _DUE_TOGETHER:
            due.append(ahead)
            ahead = next(writes, None)
        await trio.to_thread.run_sync(_write, file, due)


def _create(target: Path) -> io.FileIO:
    return io.FileIO(target, "xb")


def _write(file: io.FileIO, writes: list[Write]) -> None:
    for write in writes:
        file.seek(write.offset)
        left = memoryview(write.data)
        while left:
            left = left[file.write(left) :]
