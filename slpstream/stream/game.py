"""One game as the stream sees it: for each mode the newest messages in a bounded ring, and a way to read older ones.

The whole log is in the file, so the ring may forget: whoever needs what it has dropped is handed `replay`, which
reads the file again. A position is compared, never looked up, so a cursor stays good across restarts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from slpstream.model.messages import START, FramesMode, LogMessage, Position
from slpstream.model.summary import GameSummary

Replay = Callable[[FramesMode, Position], Awaitable[Sequence[LogMessage]]]
"""(mode, position) to the next messages behind it, some at a time; empty at the end of what is known. Raises
`CursorGone` when the file cannot be read any more."""

Order = tuple[int, int, str]
"""Where a game stands among those of its station: `(0, modification time, name)` for one that was over before the
daemon started, and is known from its file alone; `(1, n, "")` for the n-th that the daemon saw begin."""

FIRST_PLAYED: Order = (1, 0, "")
"""The place of the first game that a station sees begin."""

FindFrame = Callable[[FramesMode, int], Awaitable[Position]]
"""(mode, frame number) to the position just before the first `frame` message with that number or a higher one."""


class ReadBack(Protocol):
    """A game read back from its file."""

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """See `Replay`."""

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """See `FindFrame`."""

    def forget(self) -> None:
        """Gives back what is kept to be quick."""


def place_of(message: LogMessage) -> Position:
    """Where a message stands in its log."""
    return Position(message.offset, message.count)


class GameLog:
    """The newest messages of one mode of a game, at most `ring_bytes` of them."""

    __slots__ = ("_messages", "_ring_bytes", "_size_bytes", "dropped_through", "head")

    def __init__(self, ring_bytes: int) -> None:
        self._ring_bytes = ring_bytes
        self._messages: deque[LogMessage] | None = None
        """`None` while it is empty: of each known game there are two."""
        self._size_bytes = 0
        self.dropped_through: Position = START
        """Position of the newest message that is not here any more."""
        self.head: Position = START
        """Position of the newest message."""

    def append(self, messages: Sequence[LogMessage]) -> None:
        """Takes the messages that follow the head; forgets the oldest beyond the bound."""
        if not messages:
            return
        ring = self._messages
        if ring is None:
            ring = self._messages = deque()
        ring.extend(messages)
        self._size_bytes += sum([message.size_bytes() for message in messages])
        self.head = place_of(messages[-1])
        oldest: LogMessage | None = None
        while self._size_bytes > self._ring_bytes and len(ring) > 1:
            oldest = ring.popleft()
            self._size_bytes -= oldest.size_bytes()
        if oldest is not None:
            self.dropped_through = place_of(oldest)

    def since(self, position: Position) -> list[LogMessage] | None:
        """The messages behind `position`; `None` when some of them are no longer here."""
        if position >= self.head:
            return []
        if position < self.dropped_through:
            return None
        ring = self._messages or ()
        return [ring[i] for i in range(bisect_right(ring, position, key=place_of), len(ring))]

    def forget(self) -> None:
        """Drops the ring; the head stays."""
        self._messages = None
        self._size_bytes = 0
        self.dropped_through = self.head

    @property
    def size_bytes(self) -> int:
        """What the ring holds."""
        return self._size_bytes


class Game:
    """A game of a station: its two logs, and what a newcomer has to be told."""

    __slots__ = (
        "catching_up",
        "ended",
        "find_frame",
        "forget_replay",
        "frames_per_second",
        "game_id",
        "left",
        "logs",
        "lost",
        "newest_frames",
        "newest_stats",
        "order",
        "read_again",
        "replay",
        "start",
        "summary",
    )

    def __init__(
        self,
        game_id: str,
        replay: Replay,
        find_frame: FindFrame,
        *,
        ring_bytes: int,
        order: Order,
        forget_replay: Callable[[], None] = lambda: None,
    ) -> None:
        """`forget_replay` gives back what `replay` keeps to be quick."""
        self.game_id = game_id
        self.forget_replay = forget_replay
        self.order = order
        self.replay = replay
        self.find_frame = find_frame
        self.logs: dict[FramesMode, GameLog] = {"live": GameLog(ring_bytes), "finalized": GameLog(ring_bytes)}
        self.start: LogMessage | None = None
        self.summary = GameSummary()
        """The neutral summary, as far as the game has been read live."""
        self.newest_frames: dict[FramesMode, LogMessage] = {}
        self.newest_stats: LogMessage | None = None
        self.frames_per_second = 60
        self.catching_up = False
        """The file is older than the daemon and is being read up to its end; nothing of it is live yet."""
        self.read_again = False
        """The same file is read from its beginning once more: what the log has already is not new."""
        self.ended = False
        """`game_end` was said."""
        self.lost = False
        """The file did what a log must not do, and is not followed any more."""
        self.left = False
        """It never ended, and its file has not grown for long: nobody looks any more, until it grows."""

    @property
    def archived(self) -> bool:
        """Known from its file alone: the rings are empty and `replay` has everything."""
        return self.order[0] == 0

    @property
    def newest_frame(self) -> LogMessage | None:
        """Of the live log."""
        return self.newest_frames.get("live")

    @property
    def newest_frame_number(self) -> int | None:
        """Of the live log."""
        return None if self.newest_frame is None else self.newest_frame.frame

    @property
    def in_progress(self) -> bool:
        """Begun, and neither ended nor lost nor left."""
        return self.start is not None and not (self.ended or self.archived or self.lost or self.left)

    def read_back_by(self, replay: ReadBack) -> None:
        """From now on what the rings have dropped comes from here."""
        self.replay, self.find_frame, self.forget_replay = replay.messages, replay.find_frame, replay.forget

    def append(self, mode: FramesMode, messages: Sequence[LogMessage]) -> None:
        """New messages of one mode, in order, all behind the head."""
        self.logs[mode].append(messages)
        newest: LogMessage | None = None
        for message in messages:
            kind = message.type
            if kind == "frame":
                newest = message
            elif mode != "live":
                continue
            elif kind == "game_start":
                self.start = message
            elif kind == "stats":
                self.newest_stats = message
            elif kind == "game_end":
                self.ended = True
        if newest is not None:
            self.newest_frames[mode] = newest

    def forget(self) -> None:
        """Keeps only what cannot be read from the file."""
        for log in self.logs.values():
            log.forget()
        self.forget_replay()
        self.newest_frames = {}
        self.newest_stats = None
