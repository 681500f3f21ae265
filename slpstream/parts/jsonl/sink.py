"""Writes log messages into files of JSON lines, one per game: `<folder>/<station>/<gameId>.jsonl`.

A file is its own state. Its last complete line has the cursor of the last message written, so after a crash an
incomplete line is cut off and writing continues from that cursor. The file therefore has the lines that `dump` prints
with the same mode and topics, each exactly once. While the disk is full, nothing is read from the log either, so
nothing is lost.
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
from slpstream.stream import Channel, ConsumedBatch, ConsumerOffset, LogConsumer
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
    """The part of a line that gives its position in the log."""

    type: str
    cursor: str = ""


class JsonLinesSink:
    """Writes the games of stations into one folder. Start `follow` for each station."""

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
        """`stations` is `None` for all. `on_bytes` is called with a station and the number of bytes written."""
        self._folder = folder
        self._stations = stations
        self._topics = topics
        self._frames: FramesMode = frames
        self._limiter = limiter
        self._on_bytes = on_bytes
        self._failing: dict[str, str] = {}
        self._log = get_logger()

    def wants(self, station: str) -> bool:
        """Whether the games of a station are written."""
        return self._stations is None or station in self._stations

    def not_ready(self) -> list[str]:
        """The reasons why files cannot be written."""
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
        """Run `work` in a worker thread, and repeat it until the disk accepts it."""
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
    """Append the data as a whole or not at all, and return the new size of the file.

    Bytes after `expected_size`, which a failed attempt has left, are cut off. `None` means that the size is not known.
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
    """Cut incomplete lines off the newest files of a folder.

    Returns the offset in the log at which each file ends, oldest file first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with os.scandir(folder) as entries:
        files = sorted((e.stat().st_mtime_ns, e.name) for e in entries if _FILE_NAME.fullmatch(e.name))
    offsets = [_resume_file(folder / name, frames) for _, name in files[-_MAX_RESUMED_FILES:]]
    return [offset for offset in offsets if offset is not None]


def _resume_file(path: Path, frames: FramesMode) -> ConsumerOffset | None:
    """Cut a file off after its last valid line and return that line's offset in the log.

    A file of the other frames mode is renamed, which gives `None`.
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
    """The offset after the last line feed before the offset `before`; 0 without a line feed."""
    while before > 0:
        start = max(0, before - _BLOCK_BYTES)
        file.seek(start)
        found = file.read(before - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before = start
    return 0
