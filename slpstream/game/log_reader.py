"""Read the messages of a game back from its file, for readers that need messages which the rings have dropped.

The log is a pure function of the bytes in the file, so to read it back, we simply run the pipeline over the file again.
To avoid doing this for the whole file each time, we divide it into slices, and turn each slice into a list of messages.
At some of the borders between slices, we keep a copy of the pipeline as a checkpoint, so we can get to any place
without reading from the start. Most readers continue where the last slice ended, so we keep the pipelines of the last
slices too.

The newest slices are cached and shared by all readers. For example, if a hundred subscribers reconnect together, the
work is still done only once. All reading and decoding happens in worker threads. When a station follows a growing file,
it adds copies of its own pipeline as checkpoints. This means that jumping into a running game is fast.
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
from slpstream.sources.packed import is_packed, open_replay_file, replay_name
from slpstream.stream.game import Game
from slpstream.system.files import WHOLE_FILE_BYTES, read_regular

SLICE_BYTES = 64 * 1024
_SLICES_PER_CHECKPOINT = 4
_SLICES_PER_KEPT = 2
_CACHED_SLICES = 8
_PIPELINES_AHEAD = 4
_MAX_CHECKPOINTS = 64
"""Limit for one game. Checkpoints of a longer game are farther apart."""
_BATCH_FRAMES = 512
_PEEK_BYTES = 16 * 1024
_FIRST_PEEK_BYTES = 1536
"""Enough for the Game Start of a Slippi replay. Decoding the frames after it would take most of the time."""
MODES: tuple[FramesMode, ...] = ("live", "finalized")


ReadUnwritten = Callable[[Path, int, int], bytes]
"""Called in a worker thread with a file, an offset and a size limit. Returns bytes of the file that the disk has not
taken yet."""


class Slice(NamedTuple):
    """The messages of one slice for each mode, and the offset in the file up to which it was read."""

    logs: Mapping[FramesMode, Sequence[LogMessage]]
    end: int


class GrowingLogReader:
    """Reads back the log of a file that is written event by event. It doesn't matter whether the file is finished."""

    __slots__ = ("_cached", "_game_id", "_keep_from", "_limit_bytes", "_limiter", "_path", "_read_unwritten")

    def __init__(
        self,
        path: Callable[[], Path],
        limit_bytes: Callable[[], int | None],
        game_id: str,
        limiter: trio.CapacityLimiter,
        read_unwritten: ReadUnwritten | None = None,
    ) -> None:
        """`path` and `limit_bytes` are called each time we read, because files can be renamed, and live ones grow.

        `limit_bytes` returns the offset up to which the file can be read, or `None` if we can read all of it.
        """
        self._read_unwritten = read_unwritten
        self._path = path
        self._limit_bytes = limit_bytes
        self._game_id = game_id
        self._limiter = limiter
        self._keep_from = _SLICES_PER_KEPT * SLICE_BYTES
        self._cached: _Cached | None = None

    def keep(self, pipeline: Pipeline) -> int:
        """Offer the pipeline that follows the file. At regular distances, this keeps a copy of it.

        Returns the offset in the file from which the next one is welcome.
        """
        if pipeline.bytes_read >= self._keep_from and pipeline.failure is None:
            self._cache.add_checkpoint(pipeline.copy())
            self._keep_from = pipeline.bytes_read + _SLICES_PER_KEPT * SLICE_BYTES * self._cache.spacing
        return self._keep_from

    @property
    def _cache(self) -> _Cached:
        if self._cached is None:
            self._cached = _Cached()
        return self._cached

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """Return some of the messages after `position`. At the end of the known log, the result is empty.

        Raises `CursorGone` if the log can't be read any more.
        """
        index = max(0, position.offset - 1) // SLICE_BYTES
        while True:
            part = await self._slice(index)
            if part is None:
                return []
            found = [message for message in part.logs[mode] if message.position > position]
            if found:
                return found
            index += 1

    def forget(self) -> None:
        """Free the caches, unless they are in use. If they're needed again, they are filled again."""
        if self._cached is not None and not self._cached.lock.locked():
            self._cached = None

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """Return the position before the first `frame` that has this number or a higher one.

        Raises `CursorGone` if there's no such frame, or if the log can't be read any more.
        """
        cache = self._cache
        async with cache.lock:
            before = [
                offset
                for offset, pipeline in cache.checkpoints.items()
                if pipeline.last_frame is None or pipeline.last_frame < number - 1
            ]
            index = max(before, default=0) // SLICE_BYTES
        over = False
        while True:
            part = await self._slice(index)
            if part is None:
                raise CursorGone(f"frame {number} is not in the game{'' if over else ' yet'}")
            for message in part.logs[mode]:
                over = over or message.type == "game_end"
                if message.frame is not None and message.frame >= number:
                    return Position(message.offset, message.count - 1)
            index += 1

    async def _slice(self, index: int) -> Slice | None:
        """Return one slice, or `None` if it is beyond the end."""
        cache = self._cache
        async with cache.lock:
            limit = self._limit_bytes()
            if limit is not None and limit <= index * SLICE_BYTES:
                return None
            cached = cache.slices.get(index)
            if cached is None or cached.end != _end_of(index, limit):
                try:
                    cached = await trio.to_thread.run_sync(
                        self._read_slice, cache, index, cached, limiter=self._limiter
                    )
                except OSError as error:
                    raise CursorGone(f"the replay cannot be read any more: {error.strerror}") from error
                if cached is None:
                    return None
                cache.slices[index] = cached
            cache.slices.move_to_end(index)
            while len(cache.slices) > _CACHED_SLICES:
                cache.slices.popitem(last=False)
            return cached

    def _read_slice(self, cache: _Cached, index: int, cached: Slice | None) -> Slice | None:
        """Return the slice.

        If the cached one doesn't reach its end, it is computed again. This runs in a worker thread.
        """
        limit = self._limit_bytes()
        path = self._path()
        with self._open(path) as file:
            size = limit or 0 if self._read_unwritten is not None else file.seek(0, os.SEEK_END)
            file.seek(0)
            end = _end_of(index, size if limit is None else min(size, limit))
            if cached is not None and cached.end == end:
                return cached
            if end <= index * SLICE_BYTES:
                return None
            pipeline = cache.nearest(index * SLICE_BYTES, path)
            if pipeline.bytes_read:  # the header can have changed since this pipeline read it
                pipeline.rewrite(self._read(file, path, 0, of_name(replay_name(path)).rewritable_bytes))
            file.seek(pipeline.bytes_read)
            for i in range(pipeline.bytes_read // SLICE_BYTES, index + 1):
                offset = pipeline.bytes_read
                if pipeline.exhausted:
                    cache.ahead[offset] = pipeline
                    return None
                at_border = offset == i * SLICE_BYTES and i % (_SLICES_PER_CHECKPOINT * cache.spacing) == 0
                if i and at_border and offset not in cache.checkpoints:
                    cache.add_checkpoint(pipeline.copy())
                wanted = min((i + 1) * SLICE_BYTES, end) - offset
                data = self._read(file, path, offset, wanted)
                if i < index and len(data) < wanted:
                    raise CursorGone("the bytes after this place were never written to the disk")
                batch = pipeline.feed(data)
                if pipeline.game_id not in (None, self._game_id):
                    raise CursorGone("another game is in the file now")
        if pipeline.bytes_read == (index + 1) * SLICE_BYTES:
            cache.ahead[pipeline.bytes_read] = pipeline
            while len(cache.ahead) > _PIPELINES_AHEAD:
                cache.ahead.popitem(last=False)
        return Slice(batch.logs, pipeline.bytes_read)

    def _open(self, path: Path) -> BinaryIO:
        try:
            return open_replay_file(path)
        except FileNotFoundError:
            if self._read_unwritten is None:
                raise
            return io.BytesIO()  # the disk did not take the file name either

    def _read(self, file: BinaryIO, path: Path, offset: int, wanted: int) -> bytes:
        """Read from the file, whose position must be `offset`, and then those of its bytes that the disk hasn't taken
        yet.
        """
        data = file.read(wanted)
        while self._read_unwritten is not None and len(data) < wanted:
            more = self._read_unwritten(path, offset + len(data), wanted - len(data))
            more = more or file.read(wanted - len(data))  # it can have been written just now
            if not more:
                break
            data += more
            file.seek(offset + len(data))
        return data


def _end_of(index: int, limit: int | None) -> int:
    """Return the offset where a slice ends. If the file is shorter than that, this is the end of the file."""
    end = (index + 1) * SLICE_BYTES
    return end if limit is None else min(end, limit)


class _Cached:
    """The pipelines and slices of one file that we keep.

    This is only created when it's needed, because there can be thousands of files, and most of them are never read.
    """

    __slots__ = ("ahead", "checkpoints", "lock", "slices", "spacing")

    def __init__(self) -> None:
        self.lock = trio.Lock()
        """Held by the task that computes or uses this."""
        self.checkpoints: dict[int, Pipeline] = {}
        """Keyed by the number of bytes read. The event loop adds checkpoints while a worker thread reads this."""
        self.spacing = 1
        """The distance of the checkpoints, as a multiple of the usual one."""
        self.ahead: OrderedDict[int, Pipeline] = OrderedDict()
        """The pipelines that computed the last few whole slices, by the number of bytes read."""
        self.slices: OrderedDict[int, Slice] = OrderedDict()

    def add_checkpoint(self, pipeline: Pipeline) -> None:
        """Keep a pipeline.

        When there are too many, every second one is dropped, and new ones are farther apart from then on.
        """
        self.checkpoints[pipeline.bytes_read] = pipeline
        if len(self.checkpoints) > _MAX_CHECKPOINTS:
            self.spacing *= 2
            for offset in sorted(self.checkpoints)[1::2]:
                self.checkpoints.pop(offset, None)

    def nearest(self, offset: int, path: Path) -> Pipeline:
        """Return the pipeline that has to read the fewest bytes to get to `offset`."""
        start = max((at for at in tuple(self.checkpoints) if at <= offset), default=0)
        ahead = max((at for at in self.ahead if start <= at <= offset), default=None)
        if ahead is not None:
            return self.ahead.pop(ahead)
        checkpoint = self.checkpoints.get(start)
        if checkpoint is not None:
            return checkpoint.copy()
        return _new_pipeline(path)


def _read_whole(path: Path) -> bytes:
    """Read a file that its game writes in one go. Raises `OSError` if that fails."""
    if not is_packed(path):
        return read_regular(path)
    with open_replay_file(path) as file:
        return file.read()


def _new_pipeline(path: Path) -> Pipeline:
    name = replay_name(path)
    return Pipeline(of_name(name).new_reader(name), MODES)


class WholeFileLogReader:
    """Reads back the log of a file that is written in one go.

    The file is read as a whole, and its frames are expanded batch by batch. We keep the pipeline before each batch,
    which doesn't cost much, because all of them share the bytes of the file.
    """

    def __init__(
        self,
        path: Callable[[], Path],
        published: Callable[[FramesMode], Position | None],
        game_id: str,
        limiter: trio.CapacityLimiter,
    ) -> None:
        """`published` returns the position of the last message that readers are allowed to see, or `None` for the whole
        log.

        This prevents readers from running ahead of a game that is being published in real time.
        """
        self._path = path
        self._published = published
        self._game_id = game_id
        self._limiter = limiter
        self._lock = trio.Lock()
        self._starts: list[Pipeline] = []  # the pipeline before each batch that was reached
        self._ends: list[Mapping[FramesMode, Position]] = []  # the last message of each batch that was computed
        self._batches: OrderedDict[int, Mapping[FramesMode, Sequence[LogMessage]]] = OrderedDict()

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """Return some of the messages after `position`. At the end of the known log, the result is empty.

        Raises `CursorGone` if the log can't be read any more.
        """
        index = sum(end[mode] <= position for end in self._ends)
        limit = self._published(mode)
        while (batch := await self._batch(index)) is not None:
            found = [
                message
                for message in batch[mode]
                if message.position > position and (limit is None or message.position <= limit)
            ]
            if found or (limit is not None and self._ends[index][mode] > limit):
                return found
            index += 1
        return []

    def forget(self) -> None:
        """Free the caches, unless they are in use. If they're needed again, they are filled again."""
        if not self._lock.locked():
            self._starts.clear()
            self._ends.clear()
            self._batches.clear()

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """Return the position before the first `frame` that has this number or a higher one.

        Raises `CursorGone` if there's no such frame, or if the log can't be read any more.
        """
        index = 0
        while (batch := await self._batch(index)) is not None:
            for message in batch[mode]:
                if message.frame is not None and message.frame >= number:
                    return Position(message.offset, message.count - 1)
            index += 1
        raise CursorGone(f"frame {number} is not in the game")

    async def _batch(self, index: int) -> Mapping[FramesMode, Sequence[LogMessage]] | None:
        """Return the messages of one batch, or `None` if it is beyond the end."""
        async with self._lock:
            batch = self._batches.get(index)
            if batch is None:
                try:
                    batch = await trio.to_thread.run_sync(self._compute, index, limiter=self._limiter)
                except OSError as error:
                    raise CursorGone(f"the replay cannot be read any more: {error.strerror}") from error
                if batch is None:
                    return None
                self._batches[index] = batch
            self._batches.move_to_end(index)
            while len(self._batches) > _CACHED_SLICES:
                self._batches.popitem(last=False)
            return batch

    def _compute(self, index: int) -> Mapping[FramesMode, Sequence[LogMessage]] | None:
        """Run the pipeline up to the end of one batch. This runs in a worker thread."""
        if not self._starts:
            path = self._path()
            data = _read_whole(path)
            name = replay_name(path)
            pipeline = Pipeline(of_name(name, data[:SNIFFED_BYTES], len(data)).new_reader(name), MODES)
            pipeline.feed(data)
            self._starts.append(pipeline)
        logs: Mapping[FramesMode, Sequence[LogMessage]] | None = None
        for i in range(min(index, len(self._starts) - 1), index + 1):
            pipeline = self._starts[i].copy()
            if i and not pipeline.pending:
                return None
            logs = (pipeline.more(_BATCH_FRAMES) if i else pipeline.finish()).logs
            if pipeline.game_id != self._game_id:
                raise CursorGone("another game is in the file now")
            if i == len(self._ends):
                before = self._ends[-1] if self._ends else dict.fromkeys(MODES, START)
                self._ends.append({m: logs[m][-1].position if logs[m] else before[m] for m in MODES})
                self._starts.append(pipeline)
        return logs


FileLogReader = GrowingLogReader | WholeFileLogReader


def archived_game(path: Callable[[], Path], mtime_ns: int, game_id: str, limiter: trio.CapacityLimiter) -> Game:
    """Create a game about which we know nothing except for its file.

    `path` is called to get the current path of the file.
    """
    reader: FileLogReader
    name = replay_name(path())
    if of_name(name).written_whole:
        reader = WholeFileLogReader(path, lambda mode: None, game_id, limiter)
    else:
        reader = GrowingLogReader(path, lambda: None, game_id, limiter)
    return Game(game_id, reader, ring_bytes=0, order=(0, mtime_ns, name))


def peek_game_id(path: Path) -> str | None:
    """Return the game id of a replay. If possible, this only reads the first few bytes of the file.

    Returns `None` if there's no game in the file, and raises `OSError` if it can't be read. This function blocks.
    """
    name = replay_name(path)
    format_ = of_name(name)
    reader = format_.new_reader(name)
    with open_replay_file(path) as file:
        if format_.written_whole:
            start = first_of(GameStart, [*reader.feed(file.read(WHOLE_FILE_BYTES)), *reader.finish()])
        else:
            data = file.read(_PEEK_BYTES)
            start = first_of(GameStart, reader.feed(data[:_FIRST_PEEK_BYTES]))
            if start is None:
                start = first_of(GameStart, reader.feed(data[_FIRST_PEEK_BYTES:]))
    return None if start is None else start.game_id
