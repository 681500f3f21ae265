"""Writes a replay to a new file in the way a game does, in real time or faster.

The times of the schedule are absolute. This means that a slow disk or a busy machine delays single writes, but not the
whole match. The writes are made in a worker thread. If several writes are due at the same time, they share one call
into this thread. They are still separate writes, so that a reader of the growing file can see every cut.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import trio

from slpstream.formats.slippi.write_schedule import Write, schedule
from slpstream.model.errors import SourceError

_MAX_WRITES_PER_CALL = 256
"""Limits the time between checkpoints, which is when the task can be cancelled."""


async def write_replay(
    data: bytes,
    target: Path,
    *,
    writer: str = "dolphin",
    speed: float = 1.0,
    task_status: trio.TaskStatus[Path] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Write the replay `data` to the new file `target`, and return when the file is complete and closed.

    `writer` and `speed` have the same meaning as in `schedule`. `nursery.start` returns when the file exists, while it
    is still empty. If the call is cancelled, the file is left as if the game had crashed. Raises `SourceError` if the
    file exists or can't be written, `WrongFormat` if `data` is not a Slippi replay, and `ValueError` if the writer or
    the speed is unknown.
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
        raise SourceError(str(target), "already exists and is not overwritten") from error
    except OSError as error:
        raise SourceError(str(target), f"cannot be written: {error.strerror or error}") from error


async def _play(file: io.FileIO, writes: Iterator[Write]) -> None:
    started_at = trio.current_time()
    upcoming = next(writes, None)
    while upcoming is not None:
        await trio.sleep_until(started_at + upcoming.at_seconds)
        now_seconds = trio.current_time() - started_at
        due = [upcoming]
        upcoming = next(writes, None)
        while upcoming is not None and upcoming.at_seconds <= now_seconds and len(due) < _MAX_WRITES_PER_CALL:
            due.append(upcoming)
            upcoming = next(writes, None)
        await trio.to_thread.run_sync(_write, file, due)


def _create(target: Path) -> io.FileIO:
    return io.FileIO(target, "xb")


def _write(file: io.FileIO, writes: list[Write]) -> None:
    for write in writes:
        file.seek(write.offset)
        left = memoryview(write.data)
        while left:
            left = left[file.write(left) :]
