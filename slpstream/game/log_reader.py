"""Read the messages of a game back from its file, for readers that need messages which the rings have dropped.

The log is a pure function of the bytes in the file, so to read it back, we simply run the pipeline over the file again.
To avoid doing this for the whole file each time, we divide it into slices. At some of their borders, we keep a copy of
the pipeline as a checkpoint, and a station that follows a growing file adds copies of its own pipeline. This makes
jumps to any place fast.

The newest slices are cached and shared by all readers, so a hundred subscribers that reconnect together cause no more
work than one. Most readers continue where a slice ends, so its pipeline is kept with it. All reading and decoding
happens in worker threads.
"""

from __future__ import annotations

import io
import os
import sys
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import trio

from slpstream.formats.interface import SNIFFED_BYTES
from slpstream.formats.registry import of_name
from slpstream.game.log_writer import MODES
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
_MAX_CHECKPOINTS = 64
"""Limit for one game. Checkpoints of a longer game are farther apart."""
_BATCH_FRAMES = 512
_PEEK_BYTES = 16 * 1024
_FIRST_PEEK_BYTES = 1536
"""Enough for the Game Start of a Slippi replay. Decoding the frames after it would take most of the time."""
ReadUnwritten = Callable[[Path, int, int], bytes]
"""Called in a worker thread with a file, an offset and a size limit. Returns bytes of the file that the disk has not
taken yet."""


class Slice(msgspec.Struct):
    """The messages of one slice for each mode, and the offset in the file up to which it was read."""

    logs: Mapping[FramesMode, Sequence[LogMessage]]
    end: int
    pipeline: Pipeline | None = None
    """The pipeline that has computed the slice, until it reads on."""


class _Cached:
    """The pipelines and slices of one file that we keep."""

    __slots__ = ("checkpoints", "ends", "lock", "slices", "spacing")

    def __init__(self) -> None:
        self.lock = trio.Lock()
        """Held by the task that computes or uses this."""
        self.checkpoints: dict[int, Pipeline] = {}
        """Keyed by the number of bytes read, or by the index of the slice that they compute, in a file that is written
        in one go. The event loop adds checkpoints while a worker thread reads this."""
        self.spacing = 1
        """The distance of the checkpoints, as a multiple of the usual one."""
        self.slices: OrderedDict[int, Slice] = OrderedDict()
        self.ends: list[Mapping[FramesMode, Position]] = []
        """The last message of each slice that was computed, in a file that is written in one go."""

    def add_checkpoint(self, pipeline: Pipeline) -> None:
        """Keep a pipeline. If there are too many, every second one is dropped, and new ones are farther apart."""
        self.checkpoints[pipeline.bytes_read] = pipeline
        if len(self.checkpoints) > _MAX_CHECKPOINTS:
            self.spacing *= 2
            for offset in sorted(self.checkpoints)[1::2]:
                self.checkpoints.pop(offset, None)

    def nearest(self, index: int) -> Pipeline | None:
        """Return the pipeline that has to read the fewest bytes to get to a slice, or `None` if there is none."""
        before = self.slices.get(index - 1)
        if before is not None and before.pipeline is not None:
            pipeline, before.pipeline = before.pipeline, None
            return pipeline
        start = max((at for at in tuple(self.checkpoints) if at <= index * SLICE_BYTES), default=0)
        checkpoint = self.checkpoints.get(start)
        return None if checkpoint is None else checkpoint.copy()


class FileLogReader(ABC):
    """Reads back the log of a game from its file, in slices, of which the newest are kept."""

    __slots__ = ("_cached", "_game_id", "_limiter", "_path", "_published")

    def __init__(
        self,
        path: Callable[[], Path],
        published: Callable[[FramesMode], Position | None],
        game_id: str,
        limiter: trio.CapacityLimiter,
    ) -> None:
        """`path` is called each time we read, because files can be renamed.

        `published` returns the position of the last message that readers are allowed to see, or `None` if they can see
        all of those that we read.
        """
        self._path = path
        self._published = published
        self._game_id = game_id
        self._limiter = limiter
        self._cached: _Cached | None = None

    @property
    def _cache(self) -> _Cached:
        """Only created when it's needed, because most of thousands of files are never read."""
        if self._cached is None:
            self._cached = _Cached()
        return self._cached

    def forget(self) -> None:
        """Free the caches, unless they are in use. If they're needed again, they are filled again."""
        if self._cached is not None and not self._cached.lock.locked():
            self._cached = None

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """Return some of the messages after `position`. At the end of the known log, the result is empty.

        Raises `CursorGone` if the log can't be read any more.
        """
        index = self._index_after(mode, position)
        limit = self._published(mode)
        while (part := await self._slice(index)) is not None:
            found = [message for message in part.logs[mode] if message.position > position]
            if found:
                return found if limit is None else [message for message in found if message.position <= limit]
            index += 1
        return []

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """Return the position before the first `frame` that has this number or a higher one.

        Raises `CursorGone` if there's no such frame, or if the log can't be read any more.
        """
        index = self._index_before(number)
        over = False
        while (part := await self._slice(index)) is not None:
            for message in part.logs[mode]:
                over = over or message.type == "game_end"
                if message.frame is not None and message.frame >= number:
                    return message.position.before
            index += 1
        raise CursorGone(f"frame {number} is not in the game{'' if over else ' yet'}")

    async def _slice(self, index: int) -> Slice | None:
        """Return one slice, or `None` if it is beyond the end."""
        cache = self._cache
        async with cache.lock:
            found = cache.slices.get(index)
            if found is None or not self._is_current(index, found):
                try:
                    found = await trio.to_thread.run_sync(self._read_slice, cache, index, limiter=self._limiter)
                except OSError as error:
                    raise CursorGone(f"the replay cannot be read any more: {error.strerror}") from error
                if found is None:
                    return None
                cache.slices[index] = found
            cache.slices.move_to_end(index)
            while len(cache.slices) > _CACHED_SLICES:
                cache.slices.popitem(last=False)
            return found

    @abstractmethod
    def _index_after(self, mode: FramesMode, position: Position) -> int:
        """Return the index of the slice with the first message after `position`, or of one before it."""

    def _index_before(self, number: int) -> int:
        """Return the index of a slice before the frame `number`, or of the one with it."""
        return 0

    def _is_current(self, index: int, part: Slice) -> bool:
        """Whether a slice from the cache still has all messages that it should have."""
        return True

    @abstractmethod
    def _read_slice(self, cache: _Cached, index: int) -> Slice | None:
        """Compute one slice, or return `None` if it is beyond the end. This runs in a worker thread."""


class GrowingLogReader(FileLogReader):
    """Reads back the log of a file that is written event by event. It doesn't matter whether the file is finished."""

    __slots__ = ("_limit_bytes", "_read_unwritten", "keep_from")

    def __init__(
        self,
        path: Callable[[], Path],
        limit_bytes: Callable[[], int],
        game_id: str,
        limiter: trio.CapacityLimiter,
        read_unwritten: ReadUnwritten | None = None,
    ) -> None:
        """`limit_bytes` is called each time we read, and returns the offset up to which the file can be read."""
        super().__init__(path, lambda mode: None, game_id, limiter)
        self._read_unwritten = read_unwritten
        self._limit_bytes = limit_bytes
        self.keep_from = _SLICES_PER_KEPT * SLICE_BYTES
        """The number of bytes read from which `keep` has an effect."""

    def keep(self, pipeline: Pipeline) -> None:
        """Offer the pipeline that follows the file. At regular distances, this keeps a copy of it."""
        if pipeline.bytes_read >= self.keep_from and pipeline.failure is None:
            self._cache.add_checkpoint(pipeline.copy())
            self.keep_from = pipeline.bytes_read + _SLICES_PER_KEPT * SLICE_BYTES * self._cache.spacing

    def _index_after(self, mode: FramesMode, position: Position) -> int:
        return max(0, position.offset - 1) // SLICE_BYTES

    def _index_before(self, number: int) -> int:
        before = [
            offset
            for offset, pipeline in tuple(self._cache.checkpoints.items())
            if pipeline.last_frame is None or pipeline.last_frame < number - 1
        ]
        return max(before, default=0) // SLICE_BYTES

    async def _slice(self, index: int) -> Slice | None:
        return None if self._limit_bytes() <= index * SLICE_BYTES else await super()._slice(index)

    def _is_current(self, index: int, part: Slice) -> bool:
        return part.end == min((index + 1) * SLICE_BYTES, self._limit_bytes())

    def _read_slice(self, cache: _Cached, index: int) -> Slice | None:
        end = min((index + 1) * SLICE_BYTES, self._limit_bytes())
        path = self._path()
        with self._open(path) as file:
            if self._read_unwritten is None:
                end = min(end, file.seek(0, os.SEEK_END))
                file.seek(0)
            cached = cache.slices.get(index)
            if cached is not None and cached.end == end:
                return cached
            if end <= index * SLICE_BYTES:
                return None
            name = replay_name(path)
            format_ = of_name(name)
            pipeline = cache.nearest(index) or Pipeline(format_.new_reader(name), MODES)
            if pipeline.bytes_read:  # the header can have changed since this pipeline read it
                pipeline.rewrite(self._read(file, path, 0, format_.rewritable_bytes))
            file.seek(pipeline.bytes_read)
            for i in range(pipeline.bytes_read // SLICE_BYTES, index + 1):
                offset = pipeline.bytes_read
                if pipeline.exhausted:
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
        return Slice(batch.logs, pipeline.bytes_read, pipeline)

    def _open(self, path: Path) -> BinaryIO:
        try:
            return open_replay_file(path)
        except FileNotFoundError:
            if self._read_unwritten is None:
                raise
            return io.BytesIO()  # the disk did not take the file name either

    def _read(self, file: BinaryIO, path: Path, offset: int, wanted: int) -> bytes:
        """Read from the file, whose position must be `offset`, and then those bytes that the disk hasn't taken yet."""
        data = file.read(wanted)
        while self._read_unwritten is not None and len(data) < wanted:
            more = self._read_unwritten(path, offset + len(data), wanted - len(data))
            more = more or file.read(wanted - len(data))  # it can have been written just now
            if not more:
                break
            data += more
            file.seek(offset + len(data))
        return data


class WholeFileLogReader(FileLogReader):
    """Reads back the log of a file that is written in one go.

    The file is read as a whole, and its frames are expanded batch by batch, each of which is a slice. We keep the
    pipeline before each batch, because all of them share the bytes of the file. `published` prevents readers from
    running ahead of a game that is being published in real time.
    """

    __slots__ = ()

    def _index_after(self, mode: FramesMode, position: Position) -> int:
        return sum(end[mode] <= position for end in self._cache.ends)

    def _read_slice(self, cache: _Cached, index: int) -> Slice | None:
        starts, ends = cache.checkpoints, cache.ends
        if not starts:
            path = self._path()
            data = open_replay_file(path).read() if is_packed(path) else read_regular(path)
            name = replay_name(path)
            starts[0] = Pipeline(of_name(name, data[:SNIFFED_BYTES], len(data)).new_reader(name), MODES)
            starts[0].feed(data)
        for i in range(min(index, len(ends)), index + 1):
            pipeline = starts[i].copy()
            if i and not pipeline.pending:
                return None
            batch = pipeline.more(_BATCH_FRAMES) if i else pipeline.finish()
            if pipeline.game_id != self._game_id:
                raise CursorGone("another game is in the file now")
            if i == len(ends):
                before = ends[-1] if ends else dict.fromkeys(MODES, START)
                ends.append({m: log[-1].position if log else before[m] for m, log in batch.logs.items()})
                starts[i + 1] = pipeline
        return Slice(batch.logs, pipeline.bytes_read)


def archived_game(path: Callable[[], Path], mtime_ns: int, game_id: str, limiter: trio.CapacityLimiter) -> Game:
    """Create a game about which we know nothing except for its file. `path` returns the current path of the file."""
    reader: FileLogReader
    name = replay_name(path())
    if of_name(name).written_whole:
        reader = WholeFileLogReader(path, lambda mode: None, game_id, limiter)
    else:
        reader = GrowingLogReader(path, lambda: sys.maxsize, game_id, limiter)
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
            start = first_of(GameStart, reader.feed(file.read(_FIRST_PEEK_BYTES)))
            start = start or first_of(GameStart, reader.feed(file.read(_PEEK_BYTES)))
    return None if start is None else start.game_id
