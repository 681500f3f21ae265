"""One game of a station: a ring of its newest messages per `frames` mode, and a reader for the older ones.

The file holds the whole log, so a ring may drop its oldest messages: a subscriber that needs them reads them back from
the file (`LogReader`). Positions are compared, never looked up, so a cursor stays valid across restarts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol

from slpstream.model.messages import START, FramesMode, LogMessage, Position
from slpstream.model.summary import GameSummary

Order = tuple[int, int, str]
"""Sort key of a game among the games of its station.

`(0, modification time, name)` for a game that was over before the daemon started and is known from its file alone;
`(1, n, "")` for the n-th game that the daemon saw begin.
"""

FIRST_PLAYED: Order = (1, 0, "")
"""Sort key of the first game that the daemon saw begin."""

_position = attrgetter("position")


class LogReader(Protocol):
    """Reads the log of one game back from where it is stored."""

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """Some of the messages after `position`, in order; empty at the end of what is known.

        Raises `CursorGone` when the log can no longer be read.
        """

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """The position just before the first `frame` message with this frame number or a higher one.

        Raises `CursorGone` when there is no such frame, or the log can no longer be read.
        """

    def forget(self) -> None:
        """Free what is cached for speed."""


class GameLog:
    """The newest messages of one mode of a game, at most `ring_bytes` of them."""

    __slots__ = ("_messages", "_ring_bytes", "_size_bytes", "dropped_through", "head")

    def __init__(self, ring_bytes: int) -> None:
        self._ring_bytes = ring_bytes
        self._messages: deque[LogMessage] | None = (
            None  # made on demand: each known game has two logs, most of them empty
        )
        self._size_bytes = 0
        self.dropped_through: Position = START
        """Position of the newest message that the ring has dropped."""
        self.head: Position = START
        """Position of the newest message."""

    def append(self, messages: Sequence[LogMessage]) -> None:
        """Append messages that follow the head; drop the oldest ones beyond the size limit."""
        if not messages:
            return
        ring = self._messages
        if ring is None:
            ring = self._messages = deque()
        ring.extend(messages)
        size_bytes = self._size_bytes
        for message in messages:
            size_bytes += message.size_bytes()
        self.head = messages[-1].position
        if size_bytes > self._ring_bytes:
            oldest: LogMessage | None = None
            while size_bytes > self._ring_bytes and len(ring) > 1:
                oldest = ring.popleft()
                size_bytes -= oldest.size_bytes()
            if oldest is not None:
                self.dropped_through = oldest.position
        self._size_bytes = size_bytes

    def since(self, position: Position) -> list[LogMessage] | None:
        """The messages after `position`, or `None` when the ring has dropped some of them."""
        if position >= self.head:
            return []
        if position < self.dropped_through:
            return None
        ring = self._messages or ()
        return [ring[i] for i in range(bisect_right(ring, position, key=_position), len(ring))]

    def forget(self) -> None:
        """Empty the ring; the head stays."""
        self._messages = None
        self._size_bytes = 0
        self.dropped_through = self.head

    @property
    def size_bytes(self) -> int:
        """Approximate memory that the ring uses."""
        return self._size_bytes


class Game:
    """A game of a station: its two logs, and what a new subscriber needs to join in the middle."""

    __slots__ = (
        "arrived_whole",
        "aside",
        "beside",
        "catching_up",
        "ended",
        "frames_per_second",
        "game_id",
        "left",
        "log_reader",
        "logs",
        "lost",
        "newest_frames",
        "newest_stats",
        "order",
        "read_again",
        "start",
        "summary",
    )

    def __init__(self, game_id: str, log_reader: LogReader, *, ring_bytes: int, order: Order) -> None:
        self.game_id = game_id
        self.log_reader = log_reader
        """Reads what the rings have dropped. Replaced when the game's file is released or opened again."""
        self.order = order
        self.logs: dict[FramesMode, GameLog] = {"live": GameLog(ring_bytes), "finalized": GameLog(ring_bytes)}
        self.start: LogMessage | None = None
        self.summary = GameSummary()
        """The neutral summary, as far as the game has been read live."""
        self.newest_frames: dict[FramesMode, LogMessage] = {}
        self.newest_stats: LogMessage | None = None
        self.frames_per_second = 60
        self.catching_up = False
        """The file is older than the daemon and is still being read up to its end; nothing of it is live yet."""
        self.arrived_whole = False
        """The file was finished when it was first seen, so nothing shows that the game is being played."""
        self.aside = False
        """Another game is the one that is played: lossless subscribers get this one too, all others do not."""
        self.beside: Game | None = None
        """For a game aside: the one that was played when it began."""
        self.read_again = False
        """The file is being read from its beginning once more; messages that the log already has are not new."""
        self.ended = False
        """The log has its `game_end`."""
        self.lost = False
        """The file was truncated, replaced or removed, and is no longer followed."""
        self.left = False
        """The game never ended and its file stopped growing long ago; it is no longer followed until it grows again."""

    @property
    def archived(self) -> bool:
        """Whether the game is known from its file alone: its rings are empty and `log_reader` has everything."""
        return self.order[0] == 0

    @property
    def newest_frame(self) -> LogMessage | None:
        """The newest `frame` message of the live log."""
        return self.newest_frames.get("live")

    @property
    def newest_frame_number(self) -> int | None:
        """Frame number of the newest `frame` message of the live log."""
        return None if self.newest_frame is None else self.newest_frame.frame

    @property
    def in_progress(self) -> bool:
        """Whether the game has begun and has neither ended nor been lost or left."""
        return self.start is not None and not (self.ended or self.archived or self.lost or self.left)

    @property
    def is_played(self) -> bool:
        """Whether it is being played, or was until now: not a file that was copied in, or that is still being read."""
        return self.start is not None and not (self.catching_up or self.arrived_whole or self.aside or self.archived)

    def append(self, mode: FramesMode, messages: Sequence[LogMessage]) -> None:
        """Append new messages of one mode, in order, all after the head."""
        self.logs[mode].append(messages)
        newest: LogMessage | None = None
        for message in messages:
            kind = message.type
            if kind == "frame":
                newest = message
            elif kind == "finalized" or mode != "live":  # the first comes as often as frames
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
        """Free everything that can be read back from the file."""
        for log in self.logs.values():
            log.forget()
        self.log_reader.forget()
        self.newest_frames = {}
        self.newest_stats = None
