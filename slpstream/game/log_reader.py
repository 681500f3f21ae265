"""A game's messages read back from its file, some at a time, for subscribers who need what the rings have dropped.

The log is a pure function of the file's bytes, so a replay is the pipeline over the file once more. It works in
slices of the file: each slice becomes a list of messages, and copies of the pipeline at some slice borders are kept
as checkpoints, so that any place is reached without reading from the start again. Most who ask read on where the last
one stopped, so those pipelines are kept too. The newest slices are cached and computed once for all who ask, so a
hundred subscribers who come back at once share the reading. Reading and decoding happen in a worker thread. Whoever
follows a file that is written leaves copies of its own pipeline here as it goes, so that a jump into a running game
is short from the first one on.
"""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import trio

from slpstream.formats.interface import SNIFFED_BYTES
from slpstream.formats.registry import of_name
from slpstream.game.pipeline import Pipeline
from slpstream.model.errors import CursorGone
from slpstream.model.events import GameStart, first_of
from slpstream.model.messages import START, FramesMode, LogMessage, Position
from slpstream.stream import Game
from slpstream.stream.game import place_of
from slpstream.system.files import WHOLE_FILE_BYTES, open_regular, read_regular

SLICE_BYTES = 64 * 1024
_SLICES_PER_CHECKPOINT = 4
_SLICES_PER_KEPT = 2
"""Between the copies of those who follow the file."""
_CACHED_SLICES = 8
_PIPELINES_AHEAD = 4
_BATCH_FRAMES = 512
_PEEK_BYTES = 16 * 1024
MODES: tuple[FramesMode, ...] = ("live", "finalized")


ReadUnwritten = Callable[[Path, int, int], bytes]
"""(file, offset, most bytes) to what the file should have there and has not yet, because the disk did not take it.
Called in a worker thread."""


class Slice(NamedTuple):
    """The messages that the bytes of a slice cause, for each mode, and the file offset up to which it was read."""

    logs: Mapping[FramesMode, Sequence[LogMessage]]
    end: int


class FileReplay:
    """The log of one file. `path` and `limit_bytes` are asked anew each time: files are renamed, and live ones grow."""

    __slots__ = ("_game_id", "_keep_from", "_kept", "_limit_bytes", "_limiter", "_path", "_read_unwritten")

    def __init__(
        self,
        path: Callable[[], Path],
        limit_bytes: Callable[[], int | None],
        game_id: str,
        limiter: trio.CapacityLimiter,
        read_unwritten: ReadUnwritten | None = None,
    ) -> None:
        """`limit_bytes` answers how far the file may be read, `None` for its whole length."""
        self._read_unwritten = read_unwritten
        self._path = path
        self._limit_bytes = limit_bytes
        self._game_id = game_id
        self._limiter = limiter
        self._keep_from = _SLICES_PER_KEPT * SLICE_BYTES
        self._kept: _Kept | None = None

    def keep(self, pipeline: Pipeline) -> None:
        """Whoever follows the file has read on: a copy of its pipeline is kept from time to time."""
        if pipeline.bytes_read >= self._keep_from and pipeline.failure is None:
            self._warm.checkpoints[pipeline.bytes_read] = pipeline.copy()
            self._keep_from = pipeline.bytes_read + _SLICES_PER_KEPT * SLICE_BYTES

    @property
    def _warm(self) -> _Kept:
        if self._kept is None:
            self._kept = _Kept()
        return self._kept

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """The next messages behind a position; empty at the end of what is known. Raises `CursorGone`."""
        index = max(0, position.offset - 1) // SLICE_BYTES
        while True:
            part = await self._slice(index)
            if part is None:
                return []
            found = [message for message in part.logs[mode] if place_of(message) > position]
            if found:
                return found
            index += 1

    def forget(self) -> None:
        """Gives back what was computed, unless somebody is reading; it is computed again when somebody asks."""
        if self._kept is not None and not self._kept.lock.locked():
            self._kept = None

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """The position just before the first `frame` message with this number or a higher one. Raises `CursorGone`."""
        kept = self._warm
        async with kept.lock:
            before = [
                at
                for at, pipeline in kept.checkpoints.items()
                if pipeline.last_frame is None or pipeline.last_frame < number - 1
            ]
            index = max(before, default=0) // SLICE_BYTES
        while True:
            part = await self._slice(index)
            if part is None:
                raise CursorGone(f"frame {number} is not in the game yet")
            for message in part.logs[mode]:
                if message.frame is not None and message.frame >= number:
                    return Position(message.offset, message.count - 1)
            index += 1

    async def _slice(self, index: int) -> Slice | None:
        """The messages that the bytes of a slice cause; `None` beyond the end."""
        kept = self._warm
        async with kept.lock:
            limit = self._limit_bytes()
            if limit is not None and limit <= index * SLICE_BYTES:
                return None
            cached = kept.cache.get(index)
            if cached is None or cached.end != self._end_of(index, limit):
                try:
                    cached = await trio.to_thread.run_sync(self._find, kept, index, cached, limiter=self._limiter)
                except OSError as error:
                    raise CursorGone(f"the replay cannot be read any more: {error.strerror}") from error
                if cached is None:
                    return None
                kept.cache[index] = cached
            kept.cache.move_to_end(index)
            while len(kept.cache) > _CACHED_SLICES:
                kept.cache.popitem(last=False)
            return cached

    def _end_of(self, index: int, limit: int | None) -> int:
        """Where a slice ends, as far as that is known."""
        end = (index + 1) * SLICE_BYTES
        return end if limit is None else min(end, limit)

    def _find(self, kept: _Kept, index: int, cached: Slice | None) -> Slice | None:
        """In a worker thread: the slice, computed if the cached one does not reach the end."""
        limit = self._limit_bytes()
        path = self._path()
        with self._open(path) as file:
            size = limit or 0 if self._read_unwritten is not None else os.fstat(file.fileno()).st_size
            end = self._end_of(index, size if limit is None else min(size, limit))
            if cached is not None and cached.end == end:
                return cached
            if end <= index * SLICE_BYTES:
                return None
            pipeline = kept.nearest(index * SLICE_BYTES, path)
            if pipeline.bytes_read:  # the header that it has read may be another one by now
                pipeline.rewrite(self._read(file, path, 0, of_name(path.name).rewritable_bytes))
            file.seek(pipeline.bytes_read)
            for i in range(pipeline.bytes_read // SLICE_BYTES, index + 1):
                at = pipeline.bytes_read
                if i and at == i * SLICE_BYTES and i % _SLICES_PER_CHECKPOINT == 0 and at not in kept.checkpoints:
                    kept.checkpoints[at] = pipeline.copy()
                wanted = min((i + 1) * SLICE_BYTES, end) - at
                data = self._read(file, path, at, wanted)
                if i < index and len(data) < wanted:
                    raise CursorGone("the disk has never taken what follows")
                logs = pipeline.feed(data)
                if pipeline.game_id not in (None, self._game_id):
                    raise CursorGone("another game is in the file now")
        if pipeline.bytes_read == (index + 1) * SLICE_BYTES:
            kept.ahead[pipeline.bytes_read] = pipeline
            while len(kept.ahead) > _PIPELINES_AHEAD:
                kept.ahead.popitem(last=False)
        return Slice(dict(zip(MODES, logs, strict=True)), pipeline.bytes_read)

    def _open(self, path: Path) -> BinaryIO:
        try:
            return open_regular(path)
        except FileNotFoundError:
            if self._read_unwritten is None:
                raise
            return io.BytesIO()  # the disk does not even take its name

    def _read(self, file: BinaryIO, path: Path, offset: int, wanted: int) -> bytes:
        """What the file has from `offset` on, where it stands, and what it should have behind that."""
        data = file.read(wanted)
        while self._read_unwritten is not None and len(data) < wanted:
            more = self._read_unwritten(path, offset + len(data), wanted - len(data))
            more = more or file.read(wanted - len(data))  # perhaps it was written just now
            if not more:
                break
            data += more
            file.seek(offset + len(data))
        return data


class _Kept:
    """What is kept of a file to be quick: nothing, of the thousands that nobody asks for."""

    __slots__ = ("ahead", "cache", "checkpoints", "lock")

    def __init__(self) -> None:
        self.lock = trio.Lock()
        """Of who computes or uses it."""
        self.checkpoints: dict[int, Pipeline] = {}
        """By the bytes that they have read. Grows in the event loop too, while a thread looks."""
        self.ahead: OrderedDict[int, Pipeline] = OrderedDict()
        """The pipelines that computed the last few whole slices, by the bytes that they have read."""
        self.cache: OrderedDict[int, Slice] = OrderedDict()

    def nearest(self, offset: int, path: Path) -> Pipeline:
        """The pipeline that has the least way to go to an offset."""
        start = max((at for at in tuple(self.checkpoints) if at <= offset), default=0)
        ahead = max((at for at in self.ahead if start <= at <= offset), default=None)
        if ahead is not None:
            return self.ahead.pop(ahead)
        kept = self.checkpoints.get(start)
        if kept is not None:
            return kept.copy()
        return Pipeline(of_name(path.name).new_reader(path.name), MODES)


class RecordingReplay:
    """The log of a file that is written in one go. It is read whole, and its frames are expanded batch by batch; the
    pipeline at the border of each batch is kept, which costs little, because all of them share what was read."""

    def __init__(
        self,
        path: Callable[[], Path],
        published: Callable[[FramesMode], Position | None],
        game_id: str,
        limiter: trio.CapacityLimiter,
    ) -> None:
        """`published` answers up to which message the log may be told, `None` for all of it: a game that is played out
        in real time is not told in advance."""
        self._path = path
        self._published = published
        self._game_id = game_id
        self._limiter = limiter
        self._lock = trio.Lock()
        self._starts: list[Pipeline] = []
        """The pipeline before each batch that was reached."""
        self._ends: list[Mapping[FramesMode, Position]] = []
        """Of each batch that was computed: its last message."""
        self._cache: OrderedDict[int, Mapping[FramesMode, Sequence[LogMessage]]] = OrderedDict()

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """The next messages behind a position; empty at the end of what is known. Raises `CursorGone`."""
        index = sum(end[mode] <= position for end in self._ends)
        limit = self._published(mode)
        while (batch := await self._batch(index)) is not None:
            found = [
                message
                for message in batch[mode]
                if place_of(message) > position and (limit is None or place_of(message) <= limit)
            ]
            if found or (limit is not None and self._ends[index][mode] > limit):
                return found
            index += 1
        return []

    def forget(self) -> None:
        """Gives back what was computed, unless somebody is reading; it is computed again when somebody asks."""
        if not self._lock.locked():
            self._starts.clear()
            self._ends.clear()
            self._cache.clear()

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """The position just before the first `frame` message with this number or a higher one. Raises `CursorGone`."""
        index = 0
        while (batch := await self._batch(index)) is not None:
            for message in batch[mode]:
                if message.frame is not None and message.frame >= number:
                    return Position(message.offset, message.count - 1)
            index += 1
        raise CursorGone(f"frame {number} is not in the game")

    async def _batch(self, index: int) -> Mapping[FramesMode, Sequence[LogMessage]] | None:
        """The messages of a batch; `None` beyond the end."""
        async with self._lock:
            batch = self._cache.get(index)
            if batch is None:
                try:
                    batch = await trio.to_thread.run_sync(self._compute, index, limiter=self._limiter)
                except OSError as error:
                    raise CursorGone(f"the replay cannot be read any more: {error.strerror}") from error
                if batch is None:
                    return None
                self._cache[index] = batch
            self._cache.move_to_end(index)
            while len(self._cache) > _CACHED_SLICES:
                self._cache.popitem(last=False)
            return batch

    def _compute(self, index: int) -> Mapping[FramesMode, Sequence[LogMessage]] | None:
        """In a worker thread."""
        if not self._starts:
            path = self._path()
            data = read_regular(path)
            pipeline = Pipeline(of_name(path.name, data[:SNIFFED_BYTES], len(data)).new_reader(path.name), MODES)
            pipeline.feed(data)
            self._starts.append(pipeline)
        batch: Mapping[FramesMode, Sequence[LogMessage]] | None = None
        for i in range(min(index, len(self._starts) - 1), index + 1):
            pipeline = self._starts[i].copy()
            if i and not pipeline.pending:
                return None
            logs = pipeline.more(_BATCH_FRAMES) if i else pipeline.finish()
            if pipeline.game_id != self._game_id:
                raise CursorGone("another game is in the file now")
            batch = dict(zip(MODES, logs, strict=True))
            if i == len(self._ends):
                before = self._ends[-1] if self._ends else dict.fromkeys(MODES, START)
                self._ends.append({m: place_of(batch[m][-1]) if batch[m] else before[m] for m in MODES})
                self._starts.append(pipeline)
        return batch


def archived_game(path: Callable[[], Path], mtime_ns: int, game_id: str, limiter: trio.CapacityLimiter) -> Game:
    """A game that is known from its file alone. `path` is where that is now."""
    replay: FileReplay | RecordingReplay
    name = path().name
    if of_name(name).written_whole:
        replay = RecordingReplay(path, lambda mode: None, game_id, limiter)
    else:
        replay = FileReplay(path, lambda: None, game_id, limiter)
    return Game(
        game_id,
        replay.messages,
        replay.find_frame,
        ring_bytes=0,
        order=(0, mtime_ns, name),
        forget_replay=replay.forget,
    )


def peek_game_id(path: Path) -> str | None:
    """The game id of a replay, from the first bytes of its file where they tell; `None` when there is none. Raises
    `OSError`."""
    format_ = of_name(path.name)
    reader = format_.new_reader(path.name)
    with open_regular(path) as file:
        events = reader.feed(file.read(WHOLE_FILE_BYTES if format_.written_whole else _PEEK_BYTES))
    if format_.written_whole:
        events += reader.finish()
    start = first_of(GameStart, events)
    return None if start is None else start.game_id
