"""The newest games of a station as messages with cursors, but without their bytes.

The bytes stay in the relay's feed, where the newest are in memory and older ones in the file. All we keep here is where
the events of each message end. Cursors count messages, just like Dolphin's. However, in each run they begin at a random
number, so that you can't take the cursor of an earlier run for a message of this one.
"""

from __future__ import annotations

import secrets
from array import array
from collections import deque

from slpstream.model.errors import FramingError
from slpstream.parts.consoles.feed import RelayFeed, ServedGame
from slpstream.parts.consoles.spectators.messages import EventBatches, end_game, game_event, start_game
from slpstream.system.changing import Changing

_MAX_GAMES = 4
_MAX_MESSAGES = 1 << 20
"""The limit for the messages of one game, which is almost five hours at 60 frames a second. The rest of the game isn't
served."""
_SLICE_BYTES = 16 * 1024
"""The approximate number of bytes in one read. This also holds for a client that needs a whole game."""


class _Game:
    """The messages of one game. These are `start_game`, a batch for each of `ends`, and when it is over, `end_game`."""

    def __init__(self, first_cursor: int, base: int) -> None:
        self.first_cursor = first_cursor
        self.base = base
        """The cursor of the game's first byte in the feed."""
        self.ends = array("Q")
        self.over = False

    @property
    def next_cursor(self) -> int:
        return self.first_cursor + 1 + len(self.ends) + self.over


class SpectatorHistory(Changing):
    """The messages of one station. `run` follows the feed, and clients can `read` from a cursor.

    It changes when there are more messages.
    """

    def __init__(self, feed: RelayFeed, first_cursor: int | None = None) -> None:
        """Cursors begin at `first_cursor`. If you don't pass it, this is a random positive number below 2 ** 30."""
        self._feed = feed
        self._first_cursor = secrets.randbelow((1 << 30) - 1) + 1 if first_cursor is None else first_cursor
        self._games: deque[_Game] = deque(maxlen=_MAX_GAMES)

    @property
    def end_cursor(self) -> int:
        """The cursor after the last message."""
        return self._games[-1].next_cursor if self._games else self._first_cursor

    @property
    def start_cursor(self) -> int:
        """The cursor for a new client.

        This is the start of the game in progress, or the end if there is no such game.
        """
        return self.end_cursor if not self._games or self._games[-1].over else self._games[-1].first_cursor

    def has(self, cursor: int) -> bool:
        """Whether it is possible for a client to continue from the given cursor."""
        return bool(self._games) and self._games[0].first_cursor <= cursor <= self.end_cursor

    async def run(self) -> None:
        """Follow the feed until cancelled."""
        feed = self._feed
        cursor = feed.start_cursor
        batches: EventBatches | None = None
        while True:
            served = feed.game_at(cursor)
            data = await feed.read(cursor, _SLICE_BYTES)
            if data is None:
                self._end_game()  # bytes are missing, and the boundaries of later events are unknown
                batches, cursor = None, feed.end_cursor
            elif not data or served is None:
                await feed.changed()
            else:
                if cursor == served.base_cursor:
                    if batches is not None:  # the previous game has no Game End
                        self._games[-1].ends.extend(batches.rest())
                    batches = self._begin_game(served)
                if batches is not None and not self._take(self._games[-1], batches, data):
                    batches = None
                cursor += len(data)

    def _begin_game(self, served: ServedGame) -> EventBatches | None:
        self._end_game()
        try:
            batches = EventBatches(served.head)
        except FramingError:
            return None
        self._games.append(_Game(self.end_cursor, served.base_cursor))
        return batches

    def _take(self, game: _Game, batches: EventBatches, data: bytes) -> bool:
        """Note which messages are in the next bytes of the given game. Returns whether there can be more."""
        ends = batches.feed(data)
        game.ends.extend(ends)
        if batches.ended or len(game.ends) >= _MAX_MESSAGES:
            self._end_game()
            return False
        if ends:
            self.notify()
        return True

    def _end_game(self) -> None:
        if self._games:
            self._games[-1].over = True
            self.notify()

    async def read(self, cursor: int) -> tuple[list[bytes], int]:
        """Return the next messages, which is at least one, and the cursor after them.

        If the next message doesn't exist yet, this waits for it. If we do not keep a message any more, or its bytes are
        gone, it is left out. In this case, the first message that you get has a later cursor.
        """
        while True:
            game = next((game for game in self._games if game.first_cursor <= cursor < game.next_cursor), None)
            if game is None:
                cursor = cursor if self.has(cursor) else self.start_cursor
                if cursor == self.end_cursor:
                    await self.changed()
            elif cursor == game.first_cursor:
                return [start_game(cursor)], cursor + 1
            elif cursor == game.first_cursor + 1 + len(game.ends):
                return [end_game(cursor)], cursor + 1
            else:
                messages = await self._read_batches(game, cursor)
                if messages:
                    return messages, cursor + len(messages)
                cursor = game.next_cursor

    async def _read_batches(self, game: _Game, cursor: int) -> list[bytes]:
        """Return the next batches of the given game, given the cursor of one of them.

        If the bytes are gone, there are none.
        """
        first = cursor - game.first_cursor - 1
        start = game.ends[first - 1] if first else 0
        last = first
        while last + 1 < len(game.ends) and game.ends[last + 1] - start <= _SLICE_BYTES:
            last += 1
        ends = game.ends[first : last + 1]
        data = b""
        while len(data) < ends[-1] - start:
            more = await self._feed.read(game.base + start + len(data), ends[-1] - start - len(data))
            if not more:
                break
            data += more
        messages = []
        begin = start
        for i, end in enumerate(ends):
            if end - start > len(data):
                break
            messages.append(game_event(cursor + i, data[begin - start : end - start]))
            begin = end
        return messages
