"""Write log messages into files of JSON lines. Each game has its own file, `<folder>/<station>/<gameId>.jsonl`.

We don't need any other state than the file itself. Its last complete line contains the cursor of the last message that
was written. So after a crash, we cut off a line that is incomplete and continue from this cursor. This means that the
file contains exactly the same lines as `dump` prints with the same mode and topics, each of them once. While the disk
is full, we don't read anything from the log either, so nothing is lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec
import trio

from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import read_json
from slpstream.model.messages import START, Cursor, FramesMode, parse_cursor
from slpstream.model.prepared import prepared
from slpstream.model.topics import Topic
from slpstream.stream.channel import Channel
from slpstream.stream.log_consumer import ConsumedBatch, ConsumerOffset, LogConsumer
from slpstream.system.logs import get_logger

SUFFIX = ".jsonl"
_COLLECT_SECONDS = 0.25
_FIRST_PAUSE_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 30.0
_MAX_RESUMED_FILES = 16
_BLOCK_BYTES = 64 * 1024
_KEPT_SIZES = 32
_FILE_NAME = re.compile(r"[0-9a-f]{32}\.jsonl")

Result = TypeVar("Result")


@prepared
class _LastLine(msgspec.Struct):
    """The part of a line that tells us its position in the log."""

    type: str
    cursor: str = ""


class JsonLinesSink:
    """Writes the games of stations into one folder. You have to start `follow` for each station."""

    def __init__(
        self,
        folder: Path,
        *,
        stations: frozenset[str] | None,
        topics: frozenset[Topic],
        frames: FramesMode,
        limiter: trio.CapacityLimiter,
        on_bytes: Callable[[str, int], None] = lambda station, count: None,
    ) -> None:
        """If `stations` is `None`, all of them are written.

        `on_bytes` is called with a station and how many bytes were written.
        """
        self._folder = folder
        self._stations = stations
        self._topics = topics
        self._frames: FramesMode = frames
        self._limiter = limiter
        self._on_bytes = on_bytes
        self._failing: dict[str, str] = {}
        self._log = get_logger()

    def wants(self, station: str) -> bool:
        """Whether the games of the given station should be written."""
        return self._stations is None or station in self._stations

    def not_ready(self) -> list[str]:
        """Return the reasons why files can't be written."""
        stations: dict[str, list[str]] = {}
        for station, what in self._failing.items():
            stations.setdefault(what, []).append(station)
        return [f"JSON lines: {what} (stations: {', '.join(names)})" for what, names in stations.items()]

    async def follow(self, channel: Channel) -> None:
        """Write the games of a station until cancelled."""
        station = channel.station
        if not self.wants(station):
            return
        folder = self._folder / station
        try:
            offsets = await self._retry(station, lambda: _resume(folder, self._frames))
            consumer = LogConsumer(
                channel, frames=self._frames, topics=self._topics, offsets=offsets, collect_seconds=_COLLECT_SECONDS
            )
            sizes: dict[str, int] = {}
            async for batch in consumer:
                if batch.gone is not None:
                    self._log.warning(
                        "JSON lines of a game are incomplete", station=station, game_id=batch.game_id, what=batch.gone
                    )
                if batch.messages:
                    await self._write(station, folder, batch, sizes)
        finally:
            self._failing.pop(station, None)

    async def _write(self, station: str, folder: Path, batch: ConsumedBatch, sizes: dict[str, int]) -> None:
        path = folder / f"{batch.game_id}{SUFFIX}"
        data = b"".join([message.json() + b"\n" for message in batch.messages])
        expected_size = sizes.pop(batch.game_id, None)
        sizes[batch.game_id] = await self._retry(station, lambda: _append(path, data, expected_size))
        while len(sizes) > _KEPT_SIZES:
            del sizes[next(iter(sizes))]
        self._on_bytes(station, len(data))

    async def _retry(self, station: str, work: Callable[[], Result]) -> Result:
        """Run `work` in a worker thread. If the disk doesn't accept it, try it again until it does."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            try:
                result = await trio.to_thread.run_sync(work, limiter=self._limiter)
            except OSError as error:
                what = error.strerror or str(error)
                if station not in self._failing:
                    self._log.error("JSON lines cannot be written; trying again", station=station, what=what)
                self._failing[station] = what
                await trio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, _MAX_PAUSE_SECONDS)
                continue
            if self._failing.pop(station, None) is not None:
                self._log.info("JSON lines are written again", station=station)
            return result


# The functions below block and run in worker threads.


def _append(path: Path, data: bytes, expected_size: int | None) -> int:
    """Append data to a file, and return the new size of the file. This writes either all of the data or nothing.

    If a failed attempt has left bytes after `expected_size`, they are cut off. If you don't know the size, pass `None`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if expected_size is not None and size > expected_size:
            file.truncate(expected_size)
            size = expected_size
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise
    return size + len(data)


def _resume(folder: Path, frames: FramesMode) -> list[ConsumerOffset]:
    """Cut incomplete lines off the newest files in the given folder.

    For each file, you get the offset in the log where it ends, beginning with the oldest file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with os.scandir(folder) as entries:
        files = sorted((e.stat().st_mtime_ns, e.name) for e in entries if _FILE_NAME.fullmatch(e.name))
    offsets = [_resume_file(folder / name, frames) for _, name in files[-_MAX_RESUMED_FILES:]]
    return [offset for offset in offsets if offset is not None]


def _resume_file(path: Path, frames: FramesMode) -> ConsumerOffset | None:
    """Cut a file off after its last valid line, and return the offset of this line in the log.

    If the file belongs to the other frames mode, it is renamed, and the result is `None`.
    """
    game_id = path.name.removesuffix(SUFFIX)
    other_mode: FramesMode | None = None
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        end = _line_end(file, size)
        while end:
            start = _line_end(file, end - 1)
            file.seek(start)
            line = file.read(end - start)
            try:
                last = read_json(line, _LastLine, ProtocolViolation)
                cursor = parse_cursor(last.cursor)
            except ProtocolViolation:
                end = start  # a power failure can leave arbitrary bytes
                continue
            if cursor.game_id == game_id and cursor.mode == frames:
                break
            if cursor.game_id == game_id and cursor.mode is not None:
                other_mode = cursor.mode
                break
            end = start
        if other_mode is None and end < size:
            file.truncate(end)
    if other_mode is not None:  # renamed after it is closed, as Windows requires
        path.rename(path.with_name(f"{game_id}.{other_mode}{SUFFIX}"))
        return None
    if not end:
        return ConsumerOffset(Cursor(game_id, frames, START))
    return ConsumerOffset(cursor, over=last.type == "metadata")


def _line_end(file: BinaryIO, before: int) -> int:
    """Return the offset after the last line feed that comes before `before`, or 0 if there isn't one."""
    while before > 0:
        start = max(0, before - _BLOCK_BYTES)
        file.seek(start)
        found = file.read(before - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before = start
    return 0
