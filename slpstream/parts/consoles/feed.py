"""The games of a station as one stream of event bytes with cursors, for clients.

The feed takes the bytes of the station's files as they arrive. The newest game is the current one. Each game begins at
the cursor where the previous one stopped, so cursors only ever grow. The newest bytes are kept in memory. Clients that
are slower than this read from the file, so no client delays another one. We keep several games, so that a client can
finish the previous game after an interruption.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from weakref import WeakKeyDictionary

import trio

from slpstream.formats.slippi.container import HEADER_BYTES, MAGIC
from slpstream.parts.consoles.event_framer import GameBegan, GameEvents, GameFramer
from slpstream.sources.tail.events import TailedFile
from slpstream.system.changing import Changing

_RECENT_BYTES = 256 * 1024
_MAX_GAMES = 4
_MAX_FILES = 16

ReadFile = Callable[[Path, int, int], Awaitable[bytes]]
"""Reads from a file in a worker thread, given the path, the offset and the maximum number of bytes. Raises
`OSError`."""


Unwritten = Callable[[Path, int, int], bytes]
"""Returns bytes that aren't on disk yet, given the path, the offset and the maximum number of bytes. This is called in
a worker thread."""


async def read_file(
    path: Path,
    offset: int,
    max_bytes: int,
    *,
    limiter: trio.CapacityLimiter,
    unwritten: Callable[[], Unwritten | None] = lambda: None,
) -> bytes:
    """Read a slice of a file in a thread, including bytes that aren't on disk yet. Raises `OSError` if this fails."""
    read_unwritten = unwritten()

    def read() -> bytes:
        data = b"" if read_unwritten is None else read_unwritten(path, offset, max_bytes)
        if data:
            return data
        with path.open("rb") as file:
            file.seek(offset, os.SEEK_SET)
            return file.read(max_bytes)

    return await trio.to_thread.run_sync(read, limiter=limiter)


class ServedGame:
    """The events of one game: their total size, and the newest bytes."""

    def __init__(self, head: bytes, base_cursor: int, file: TailedFile) -> None:
        self.head = head
        self.base_cursor = base_cursor
        self.file = file
        self.size_bytes = 0
        self.ended = False
        self._recent = bytearray()
        self.append(head)

    @property
    def end_cursor(self) -> int:
        """The cursor after the last byte."""
        return self.base_cursor + self.size_bytes

    def append(self, data: bytes) -> None:
        """Append whole events."""
        self._recent += data
        self.size_bytes += len(data)
        if len(self._recent) > 2 * _RECENT_BYTES:
            del self._recent[:-_RECENT_BYTES]

    def recent(self, position: int, max_bytes: int) -> bytes | None:
        """Return bytes from a position in the game, or `None` if they are no longer in memory."""
        start = position - (self.size_bytes - len(self._recent))
        return None if start < 0 else bytes(self._recent[start : start + max_bytes])


class _FileReader:
    """The state of one file that is followed."""

    def __init__(self) -> None:
        self.framer = GameFramer()
        self.game: ServedGame | None = None
        self.position = 0
        """The position of the next event in the game."""
        self.finished = False
        """Whether the rest of the file is ignored."""


class RelayFeed(Changing):
    """The stream of one station. The bytes of the station go in with `grew`, and clients `read` from a cursor.

    It changes when there are more bytes.
    """

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._files: WeakKeyDictionary[object, _FileReader] = WeakKeyDictionary()
        """The keys are the station's objects for its files. If the station releases a file, it is freed here as
        well."""
        self._games: deque[ServedGame] = deque(maxlen=_MAX_GAMES)

    def grew(self, followed: object, file: TailedFile, offset: int, data: bytes) -> None:
        """Take the next bytes of a file, in order and without gaps.

        `followed` must be the same object for all bytes of one file. `file` has the current path.
        """
        if offset == 0:
            self._files[followed] = _FileReader()
            while len(self._files) > _MAX_FILES:
                del self._files[next(iter(self._files))]
        reader = self._files.get(followed)
        if reader is None or reader.finished:
            return
        if reader.game is not None:
            reader.game.file = file
        if offset < HEADER_BYTES:
            head = data[: HEADER_BYTES - offset]
            if head[: len(MAGIC) - offset] != MAGIC[offset : offset + len(head)]:
                reader.finished = True  # another format
                return
            data = data[len(head) :]
        for output in reader.framer.feed(data):
            if isinstance(output, GameBegan):
                if reader.game is not None:
                    reader.finished = True  # a file has only one game
                    return
                self._begin(file, reader, output.head)
            elif isinstance(output, GameEvents) and reader.game is not None:
                self._append(reader, reader.game, output)
            else:
                reader.finished = True  # the events end here, usually because the metadata begins
                return

    def _begin(self, file: TailedFile, reader: _FileReader, head: bytes) -> None:
        reader.position = len(head)
        for game in self._games:
            if game.head == head:  # a file that is read again, or a copy of it
                game.file, reader.game = file, game
                return
        reader.game = ServedGame(head, self.end_cursor, file)
        self._games.append(reader.game)
        self.notify()

    def _append(self, reader: _FileReader, game: ServedGame, events: GameEvents) -> None:
        start, reader.position = reader.position, reader.position + len(events.data)
        if game is not self.current or reader.position <= game.size_bytes:
            return  # another game is current, or these events were received before
        game.append(events.data[game.size_bytes - start :] if start < game.size_bytes else events.data)
        game.ended = events.ended
        self.notify()

    @property
    def current(self) -> ServedGame | None:
        """The newest game."""
        return self._games[-1] if self._games else None

    @property
    def end_cursor(self) -> int:
        """The cursor after the last byte."""
        return self._games[-1].end_cursor if self._games else 0

    @property
    def start_cursor(self) -> int:
        """The cursor for a new client.

        This is the start of the game in progress, or the end if there is no such game.
        """
        current = self.current
        return self.end_cursor if current is None or current.ended else current.base_cursor

    def has(self, cursor: int) -> bool:
        """Whether a client can continue from this cursor."""
        return bool(self._games) and self._games[0].base_cursor <= cursor <= self.end_cursor

    def game_at(self, cursor: int) -> ServedGame | None:
        """Return the game that contains the byte at a cursor.

        Returns `None` at the end of the stream, and for bytes that are no longer available.
        """
        return next((game for game in self._games if game.base_cursor <= cursor < game.end_cursor), None)

    async def read(self, cursor: int, max_bytes: int) -> bytes | None:
        """Read event bytes of one game, starting at a cursor. At the end of the stream, there are none.

        Returns `None` if the bytes are neither in memory nor in the file any more.
        """
        game = self.game_at(cursor)
        if game is None:
            return b"" if cursor == self.end_cursor else None
        position = cursor - game.base_cursor
        size = min(max_bytes, game.size_bytes - position)
        data = game.recent(position, size)
        if data is None:
            try:
                data = await self._read(game.file.path, HEADER_BYTES + position, size)
            except OSError:
                return None
        return data or None
