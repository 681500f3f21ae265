"""Replays that grow while a test reads them."""

from __future__ import annotations

from pathlib import Path

import trio

from slpstream.formats.slippi.write_schedule import schedule


async def write_replay(data: bytes, target: Path, *, writer: str = "dolphin", speed: float = 1.0) -> None:
    """Write a replay to a new file in the way a game does. `writer` and `speed` are those of `schedule`."""
    started_at = trio.current_time()
    with target.open("xb", buffering=0) as file:
        for write in schedule(data, writer, speed=speed):
            await trio.sleep_until(started_at + write.at_seconds)
            file.seek(write.offset)
            file.write(write.data)
