"""A game's messages read back from its file, some at a time, for subscribers who need what the rings have dropped.

The log is a pure function of the file's bytes, so a replay is the pipeline over the file once more. It works in
slices of the file: each slice becomes a list of messages, and copies of the pipeline at some slice borders are kept
as checkpoints, so that any place is reached without reading from the start again. The newest slices are cached and
computed once for all who ask, so a hundred subscribers who come back at once share the reading. Reading and decoding
happen in a worker thread.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import trio

from slpstream.errors import CursorGone
from slpstream.formats import of_name
from slpstream.messages import FramesMode, LogMessage, Position
from slpstream.pipeline import Pipeline
from slpstream.stream import Game
from slpstream.stream.game import place_of

SLICE_BYTES = 64 * 1024
_SLICES_PER_CHECKPOINT = 8
_CACHED_SLICES = 8
MODES: tuple[FramesMode, ...] = ("live", "finalized")

Slice = Mapping[FramesMode, Sequence[LogMessage]]


class FileReplay:
    """The log of one file. `path` and `limit_bytes` are asked anew each time: files are renamed, and live ones grow."""

    def __init__(
        self,
        path: Callable[[], Path],
        limit_bytes: Callable[[], int | None],
        game_id: str,
        limiter: trio.CapacityLimiter,
    ) -> None:
        """`limit_bytes` answers how far the file may be read, `None` for its whole length."""
        self._path = path
        self._limit_bytes = limit_bytes
        self._game_id = game_id
        self._limiter = limiter
        self._lock = trio.Lock()
        self._checkpoints: dict[int, Pipeline] = {}
        self._cache: OrderedDict[int, Slice] = OrderedDict()

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """The next messages behind a position; empty at the end of what is known. Raises `CursorGone`."""
        index = max(0, position.offset - 1) // SLICE_BYTES
        while True:
            part = await self._slice(index)
            if part is None:
                return []
            found = [message for message in part[mode] if place_of(message) > position]
            if found:
                return found
            index += 1

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """The position just before the first `frame` message with this number or a higher one. Raises `CursorGone`."""
        index = max(
            (i for i, pipeline in self._checkpoints.items() if (pipeline.last_frame or 0) < number - 1), default=0
        )
        while True:
            part = await self._slice(index)
            if part is None:
                raise CursorGone(f"frame {number} is not in the game yet")
            for message in part[mode]:
                if message.frame is not None and message.frame >= number:
                    return Position(message.offset, message.count - 1)
            index += 1

    async def _slice(self, index: int) -> Slice | None:
        """The messages that the bytes of a slice cause; `None` beyond the end."""
        async with self._lock:
            cached = self._cache.get(index)
            if cached is not None:
                self._cache.move_to_end(index)
                return cached
            try:
                part, whole = await trio.to_thread.run_sync(self._compute, index, limiter=self._limiter)
            except OSError as error:
                raise CursorGone(f"the replay cannot be read any more: {error.strerror}") from error
            if part is not None and whole:
                self._cache[index] = part
                while len(self._cache) > _CACHED_SLICES:
                    self._cache.popitem(last=False)
            return part

    def _compute(self, index: int) -> tuple[Slice | None, bool]:
        """In a worker thread: the slice, and whether all its bytes were there."""
        limit = self._limit_bytes()
        path = self._path()
        start = max((i for i in self._checkpoints if i <= index), default=0)
        pipeline = self._checkpoints[start].copy() if start else Pipeline(of_name(path.name).reader(), MODES)
        with path.open("rb") as file:
            file.seek(start * SLICE_BYTES)
            for i in range(start, index + 1):
                if i % _SLICES_PER_CHECKPOINT == 0 and i not in self._checkpoints and i:
                    self._checkpoints[i] = pipeline.copy()
                room = SLICE_BYTES if limit is None else min(SLICE_BYTES, limit - i * SLICE_BYTES)
                data = file.read(room) if room > 0 else b""
                if not data:
                    return None, False
                logs = pipeline.feed(data)
                if pipeline.game_id not in (None, self._game_id):
                    raise CursorGone("another game is in the file now")
        return dict(zip(MODES, logs, strict=True)), len(data) == SLICE_BYTES


def archived_game(path: Path, mtime_ns: int, game_id: str, limiter: trio.CapacityLimiter) -> Game:
    """A game that is known from its file alone."""
    replay = FileReplay(lambda: path, lambda: None, game_id, limiter)
    return Game(game_id, replay.messages, replay.find_frame, ring_bytes=0, order=(0, mtime_ns, path.name))
