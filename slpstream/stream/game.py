"""One game of a station. It has a ring of the newest messages for each `frames` mode, and a reader for the older ones.

The file contains the whole log, so it doesn't matter if a ring drops its oldest messages. If a subscriber needs them,
it reads them back from the file (`LogReader`). We never look up a position, we only compare it with others, and that's
why a cursor stays valid when the daemon restarts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import Enum, auto
from operator import attrgetter
from typing import Literal, Protocol

from slpstream.model.messages import DROPPABLE_TYPES, OVERHEAD_BYTES, START, FramesMode, LogMessage, Position
from slpstream.model.summary import GameSummary

Order = tuple[int, int, str]
"""Sort key of a game among the games of its station.

`(0, modification time, name)` for a game that was over before the daemon started and is known from its file alone;
`(1, n, "")` for the n-th game that the daemon saw begin.
"""

FIRST_PLAYED: Order = (1, 0, "")
"""Sort key of the first game that the daemon saw begin."""

_SPARE_PART = 16
"""A full log drops a sixteenth at a time."""


class LogReader(Protocol):
    """Reads the log of a game back from the place where it is stored."""

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """Return some of the messages after `position`, in order. At the end of the known log, the result is empty.

        Raises `CursorGone` if the log can't be read any more.
        """

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """Return the position just before the first `frame` message that has this frame number or a higher one.

        Raises `CursorGone` if there's no such frame, or if the log can't be read any more.
        """

    def forget(self) -> None:
        """Free all caches."""


class GameLog:
    """The newest messages of one mode of a game. Together, they take at most `ring_bytes`."""

    def __init__(self, ring_bytes: int) -> None:
        self._ring_bytes = ring_bytes
        self._messages: list[LogMessage] = []
        self._totals_bytes = [0]
        """The total size of the log before each message of the ring, and after the newest one."""
        self.dropped_through = START
        """Position of the newest message that is not in the ring any more. If the ring is empty, it is the `head`."""
        self.newest: dict[str, LogMessage] = {}
        """The newest message of each type."""

    @property
    def head(self) -> Position:
        """Position of the newest message."""
        return self._messages[-1].position if self._messages else self.dropped_through

    @property
    def size_bytes(self) -> int:
        """Approximately how much memory the ring uses."""
        return self._totals_bytes[-1] - self._totals_bytes[0]

    def append(self, messages: list[LogMessage]) -> list[LogMessage]:
        """Append messages, which must be in order, and return them. Those that the log already has are left out.

        If this exceeds the size limit, the oldest messages are dropped.
        """
        newest = self._messages[-1] if self._messages else self.dropped_through
        if messages and messages[0].offset <= newest.offset:
            head = self.head
            messages = [message for message in messages if message.position > head]
        self._messages += messages
        totals_bytes = self._totals_bytes
        total_bytes = totals_bytes[-1]
        for message in messages:
            content, kind = message.content, message.type
            self.newest[kind] = message
            total_bytes += OVERHEAD_BYTES
            # `isinstance` is slow here, because msgspec's metaclass is that of abstract classes.
            if type(content) is not bytes:
                total_bytes += content.size_bytes  # type: ignore[union-attr]
            elif kind != "finalized":  # it has only a few bytes
                total_bytes += len(content)
            totals_bytes += (total_bytes,)
        if total_bytes - totals_bytes[0] > self._ring_bytes:
            self._drop_oldest()
        return messages

    def _drop_oldest(self) -> None:
        """Drop the oldest messages, and some more, because otherwise each frame would have to drop some."""
        totals_bytes = self._totals_bytes
        target_bytes = self._ring_bytes - self._ring_bytes // _SPARE_PART
        dropped = min(bisect_left(totals_bytes, totals_bytes[-1] - target_bytes), len(self._messages) - 1)
        if dropped:
            self.dropped_through = self._messages[dropped - 1].position
            del self._messages[:dropped], totals_bytes[:dropped]

    def since(self, position: Position) -> list[LogMessage] | None:
        """Return the messages after `position`, or `None` if the ring has already dropped some of them."""
        if position >= self.head:
            return []
        if position < self.dropped_through:
            return None
        return self._messages[bisect_right(self._messages, position, key=attrgetter("position")) :]

    def forget(self) -> None:
        """Empty the ring. The head stays the same."""
        self.dropped_through = self.head
        self._messages, self._totals_bytes = [], [0]
        self.newest = {kind: message for kind, message in self.newest.items() if kind not in DROPPABLE_TYPES}


class Role(Enum):
    """How a game relates to what is being played on the station."""

    PLAYED = auto()
    """The game is being played, or was played when its messages arrived."""
    RECORDED = auto()
    """The file was complete when it was first seen, so nothing shows that the game is being played."""
    SECONDARY = auto()
    """Another game is played. Only lossless subscribers receive this one."""


_PLAYED, _SECONDARY = Role.PLAYED, Role.SECONDARY  # a global is found faster than a member of an enum


class Game:
    """A game of a station, with its two logs and the messages from which we make a snapshot."""

    def __init__(self, game_id: str, log_reader: LogReader, *, ring_bytes: int, order: Order) -> None:
        self.game_id = game_id
        self.log_reader = log_reader
        """Reads messages that the rings have dropped. Replaced when the game's file is released or opened again."""
        self.order = order
        self.logs: dict[FramesMode, GameLog] = {"live": GameLog(ring_bytes), "finalized": GameLog(ring_bytes)}
        self.summary = GameSummary()
        """The neutral summary, as far as the game has been read live."""
        self.frames_per_second = 60
        self.catching_up = False
        """Whether the file is older than the daemon and was not read to its end yet, so that nothing in it is live."""
        self.stopped: Literal["left", "lost"] | None = None
        """Why we don't follow the file any more.

        The game is `left` if it never ended and its file has not grown for long. It is followed again when it grows.
        The game is `lost` if its file was truncated, replaced or removed.
        """
        self._caught_up = True
        self.role = Role.PLAYED
        self.primary: Game | None = None
        """For a secondary game: the game that was played when it began."""

    @property
    def archived(self) -> bool:
        """Whether all we know about the game comes from its file, so that its rings are empty."""
        return self.order[0] == 0

    @property
    def secondary(self) -> bool:
        """Whether another game is being played, which means that only lossless subscribers receive this one."""
        return self.role is _SECONDARY

    def catch_up(self) -> None:
        """Begin to read a file that is older than the daemon."""
        self.catching_up, self._caught_up = True, False

    def go_live(self) -> None:
        """Note that the file was read to its end."""
        self.catching_up, self._caught_up = False, True

    def leave(self) -> None:
        """Stop waiting for the rest of a game. If the game has ended, this does nothing."""
        if not self.ended:
            self.stopped, self.catching_up = "left", False

    def lose(self) -> None:
        """Note that it isn't possible to follow the file any more."""
        self.stopped, self.catching_up = "lost", False

    def resume(self) -> None:
        """Follow a game again that was left or lost. If its file was never read to its end, it is catching up."""
        self.stopped, self.catching_up = None, not self._caught_up

    @property
    def start(self) -> LogMessage | None:
        """The `game_start` message."""
        return self.logs["live"].newest.get("game_start")

    @property
    def ended(self) -> bool:
        """Whether the log has its `game_end`. A game can end and be lost afterwards."""
        return "game_end" in self.logs["live"].newest

    @property
    def newest_frame(self) -> LogMessage | None:
        """The newest `frame` message in the live log."""
        return self.logs["live"].newest.get("frame")

    @property
    def newest_stats(self) -> LogMessage | None:
        """The newest `stats` message in the live log."""
        return self.logs["live"].newest.get("stats")

    @property
    def newest_frame_number(self) -> int | None:
        """The frame number of the newest `frame` message in the live log."""
        return None if self.newest_frame is None else self.newest_frame.frame

    @property
    def in_progress(self) -> bool:
        """Whether the game has begun, but has not ended yet and was neither left nor lost."""
        known = self.logs["live"].newest
        return "game_start" in known and "game_end" not in known and not (self.stopped or self.archived)

    @property
    def is_played(self) -> bool:
        """Whether the game is being played, or was until now. While we are catching up with the file, this is false."""
        return self.start is not None and self.role is _PLAYED and not (self.catching_up or self.archived)

    def note(self, message: LogMessage) -> None:
        """Note the newest message of a type, which doesn't have to be in the live log."""
        self.logs["live"].newest[message.type] = message

    def forget(self) -> None:
        """Free everything that can be read back from the file if it's needed again."""
        for log in self.logs.values():
            log.forget()
        self.log_reader.forget()
