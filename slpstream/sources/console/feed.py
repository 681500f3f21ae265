"""The games of a station as one stream of events with a cursor, for those whom they are served again.

It is handed the bytes of the station's files as they come. The newest game is the current one; each begins where the
one before stopped, so cursors only grow. The newest bytes are kept in memory, and whoever is slower reads on from the
file: nobody holds up anybody. A few games back are known, so that a client that was away can finish the game before.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from weakref import WeakKeyDictionary

import trio

from slpstream.formats.slippi.container import HEADER_BYTES, MAGIC
from slpstream.sources.console.event_framer import Begun, Events, GameFramer
from slpstream.sources.tail import TailedFile

_RECENT_BYTES = 256 * 1024
_KEPT_GAMES = 4
_FILES = 16

ReadFile = Callable[[Path, int, int], Awaitable[bytes]]
"""(file, offset, most bytes) to the bytes that are there, in a worker thread. Raises `OSError`."""


Unwritten = Callable[[Path, int, int], bytes]
"""(file, offset, most bytes) to what the file should have there and has not yet. Called in a worker thread."""


async def read_file(
    path: Path,
    offset: int,
    max_bytes: int,
    *,
    limiter: trio.CapacityLimiter,
    unwritten: Callable[[], Unwritten | None] = lambda: None,
) -> bytes:
    """Reads a slice of a file in a thread, and what the disk has not taken of it. Raises `OSError`."""
    beyond = unwritten()

    def read() -> bytes:
        data = b"" if beyond is None else beyond(path, offset, max_bytes)
        if data:
            return data
        with path.open("rb") as file:
            file.seek(offset, os.SEEK_SET)
            return file.read(max_bytes)

    return await trio.to_thread.run_sync(read, limiter=limiter)


class ServedGame:
    """The events of one game: how many there are, and the newest of them."""

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
        """Of what comes next."""
        return self.base_cursor + self.size_bytes

    def append(self, data: bytes) -> None:
        """Whole events."""
        self._recent += data
        self.size_bytes += len(data)
        if len(self._recent) > 2 * _RECENT_BYTES:
            del self._recent[:-_RECENT_BYTES]

    def recent(self, at: int, max_bytes: int) -> bytes | None:
        """Bytes from a place on, when they are still here."""
        start = at - (self.size_bytes - len(self._recent))
        return None if start < 0 else bytes(self._recent[start : start + max_bytes])


class _Source:
    """One file that is read."""

    def __init__(self) -> None:
        self.cutter = GameFramer()
        self.game: ServedGame | None = None
        self.at = 0
        self.over = False


class RelayFeed:
    """The stream of one station. The station calls `grew`; clients read from a cursor."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._sources: WeakKeyDictionary[object, _Source] = WeakKeyDictionary()
        """Of those that the station follows; what it lets go is let go here too."""
        self._games: deque[ServedGame] = deque(maxlen=_KEPT_GAMES)
        self._changed = trio.Event()
        self._closed = False

    # -- what the station says ----------------------------------------------------------------------------------------

    def grew(self, followed: object, file: TailedFile, offset: int, data: bytes) -> None:
        """The next bytes of a file, each once, without gaps.

        `followed` is the same object for all bytes of one file; `file` is where the file is now.
        """
        if offset == 0:
            self._sources[followed] = _Source()
            while len(self._sources) > _FILES:
                del self._sources[next(iter(self._sources))]
        source = self._sources.get(followed)
        if source is None or source.over:
            return
        if source.game is not None:
            source.game.file = file
        if offset < HEADER_BYTES:
            head = data[: HEADER_BYTES - offset]
            if head[: len(MAGIC) - offset] != MAGIC[offset : offset + len(head)]:
                source.over = True  # another format
                return
            data = data[len(head) :]
        for cut in source.cutter.feed(data):
            if isinstance(cut, Begun):
                if source.game is not None:
                    source.over = True  # no file has two games
                    return
                self._begin(file, source, cut.head)
            elif isinstance(cut, Events) and source.game is not None:
                self._append(source, source.game, cut)
            else:
                source.over = True  # the events end, with the metadata mostly
                return

    def _begin(self, file: TailedFile, source: _Source, head: bytes) -> None:
        source.at = len(head)
        for known in self._games:
            if known.head == head:  # a file that is read again, or a copy of it
                known.file, source.game = file, known
                return
        source.game = ServedGame(head, self.end_cursor, file)
        self._games.append(source.game)
        self._notify()

    def _append(self, source: _Source, game: ServedGame, cut: Events) -> None:
        start, source.at = source.at, source.at + len(cut.data)
        if game is not self.current or source.at <= game.size_bytes:
            return  # another game is on, or this is known
        game.append(cut.data[game.size_bytes - start :] if start < game.size_bytes else cut.data)
        game.ended = cut.ended
        self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    # -- what clients ask ---------------------------------------------------------------------------------------------

    @property
    def current(self) -> ServedGame | None:
        """The newest game."""
        return self._games[-1] if self._games else None

    @property
    def end_cursor(self) -> int:
        """Of what comes next."""
        return self._games[-1].end_cursor if self._games else 0

    @property
    def start_cursor(self) -> int:
        """Where a newcomer begins: at the beginning of the game that is on, else at what comes next."""
        current = self.current
        return self.end_cursor if current is None or current.ended else current.base_cursor

    def has(self, cursor: int) -> bool:
        """Whether a client can go on there."""
        return bool(self._games) and self._games[0].base_cursor <= cursor <= self.end_cursor

    async def changed(self) -> None:
        """Returns after the next bytes."""
        await self._changed.wait()

    async def read(self, cursor: int, max_bytes: int) -> bytes | None:
        """What follows a cursor, of one game; empty at the end. `None` when it is nowhere to be had any more."""
        game = next((game for game in self._games if game.base_cursor <= cursor < game.end_cursor), None)
        if game is None:
            return b"" if cursor == self.end_cursor else None
        at = cursor - game.base_cursor
        wanted = min(max_bytes, game.size_bytes - at)
        data = game.recent(at, wanted)
        if data is None:
            try:
                data = await self._read(game.file.path, HEADER_BYTES + at, wanted)
            except OSError:
                return None
        return data or None
