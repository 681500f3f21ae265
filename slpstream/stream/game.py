"""One game of a station. It has a ring of the newest messages for each `frames` mode, and a reader for the older ones.

The file contains the whole log, so it doesn't matter if a ring drops its oldest messages. If a subscriber needs them,
it reads them back from the file (`LogReader`). We never look up a position, we only compare it with others, and that's
why a cursor stays valid when the daemon restarts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum, auto
from operator import attrgetter
from typing import Protocol

from slpstream.model.messages import OVERHEAD_BYTES, START, FramesMode, LogMessage, Position
from slpstream.model.summary import GameSummary

Order = tuple[int, int, str]
"""Sort key of a game among the games of its station.

`(0, modification time, name)` for a game that was over before the daemon started and is known from its file alone;
`(1, n, "")` for the n-th game that the daemon saw begin.
"""

FIRST_PLAYED: Order = (1, 0, "")
"""Sort key of the first game that the daemon saw begin."""

_position = attrgetter("position")
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
        self._sizes_bytes: list[int] = []
        self.size_bytes = 0
        """Approximately how much memory the ring uses."""
        self.dropped_through = START
        """Position of the newest message that the ring has dropped."""
        self.offset, self.count = START
        """The parts of `head`. Each frame changes them, but hardly anybody asks for the position."""
        self.newest_frame: LogMessage | None = None
        """The newest `frame` message."""

    @property
    def head(self) -> Position:
        """Position of the newest message."""
        return Position(self.offset, self.count)

    @head.setter
    def head(self, position: Position) -> None:
        self.offset, self.count = position

    def append(self, messages: Sequence[LogMessage]) -> Sequence[LogMessage]:
        """Append messages that come after the head. If this exceeds the size limit, the oldest messages are dropped.

        Returns those messages that are neither `frame` nor `finalized`. Most batches have none.
        """
        if not messages:
            return ()
        self._messages += messages
        others: list[LogMessage] = []
        for message in messages:
            content, kind = message.content, message.type
            size_bytes = OVERHEAD_BYTES
            if kind == "frame":
                self.newest_frame = message
            elif kind != "finalized":
                others.append(message)
            # `isinstance` is slow here, because msgspec's metaclass is that of abstract classes.
            if type(content) is not bytes:
                size_bytes += content.size_bytes  # type: ignore[union-attr]
            elif kind != "finalized":  # it has only a few bytes
                size_bytes += len(content)
            self._sizes_bytes += (size_bytes,)
            self.size_bytes += size_bytes
        self.offset, self.count = message.offset, message.count
        if self.size_bytes > self._ring_bytes:
            self._drop_oldest()
        return others

    def _drop_oldest(self) -> None:
        """Drop the oldest messages, and some more, because otherwise each frame would have to drop some."""
        target_bytes = self._ring_bytes - self._ring_bytes // _SPARE_PART
        dropped = 0
        for size_bytes in self._sizes_bytes[:-1]:
            if self.size_bytes <= target_bytes:
                break
            self.size_bytes -= size_bytes
            dropped += 1
        if dropped:
            self.dropped_through = self._messages[dropped - 1].position
            del self._messages[:dropped], self._sizes_bytes[:dropped]

    def since(self, position: Position) -> list[LogMessage] | None:
        """Return the messages after `position`, or `None` if the ring has already dropped some of them."""
        if position >= self.head:
            return []
        if position < self.dropped_through:
            return None
        return self._messages[bisect_right(self._messages, position, key=_position) :]

    def forget(self) -> None:
        """Empty the ring. The head stays the same."""
        self._messages, self._sizes_bytes, self.size_bytes = [], [], 0
        self.newest_frame = None
        self.dropped_through = self.head


class FileState(Enum):
    """How far we follow the file of a game."""

    CATCHING_UP = auto()
    """The file is older than the daemon and has not been read to its end yet, so nothing in it is live."""
    LIVE = auto()
    """The file has been read to its end, and new messages are live."""
    LEFT = auto()
    """The game never ended and its file has not grown for long. It is followed again when it grows."""
    LOST = auto()
    """The file was truncated, replaced or removed."""


class Role(Enum):
    """How a game relates to what is being played on the station."""

    PLAYED = auto()
    """The game is being played, or was played when its messages arrived."""
    RECORDED = auto()
    """The file was complete when it was first seen, so nothing shows that the game is being played."""
    SECONDARY = auto()
    """Another game is played. Only lossless subscribers receive this one."""


# Looking up a member of an enum class takes several times as long as a global (Python 3.11), and these are compared for
# each frame.
_CATCHING_UP, _LIVE, _LEFT, _LOST = FileState.CATCHING_UP, FileState.LIVE, FileState.LEFT, FileState.LOST
_PLAYED, _SECONDARY = Role.PLAYED, Role.SECONDARY


class Game:
    """A game of a station, with its two logs and the messages from which we make a snapshot."""

    def __init__(self, game_id: str, log_reader: LogReader, *, ring_bytes: int, order: Order) -> None:
        self.game_id = game_id
        self.log_reader = log_reader
        """Reads messages that the rings have dropped. Replaced when the game's file is released or opened again."""
        self.order = order
        self.logs: dict[FramesMode, GameLog] = {"live": GameLog(ring_bytes), "finalized": GameLog(ring_bytes)}
        self.start: LogMessage | None = None
        self.summary = GameSummary()
        """The neutral summary, as far as the game has been read live."""
        self.newest_stats: LogMessage | None = None
        self.frames_per_second = 60
        self.file_state = self._resumed_state = _LIVE
        self.catching_up = False
        """Whether we are still reading the file to its end for the first time."""
        self.role = Role.PLAYED
        self.primary: Game | None = None
        """For a secondary game: the game that was played when it began."""
        self.ended = False
        """Whether the log has its `game_end`. A game can end and be lost afterwards."""

    @property
    def archived(self) -> bool:
        """Whether all we know about the game comes from its file.

        In this case, its rings are empty, and `log_reader` has everything.
        """
        return self.order[0] == 0

    @property
    def left(self) -> bool:
        """Whether the game never ended, and we don't follow its file any more unless it grows."""
        return self.file_state is _LEFT

    @property
    def lost(self) -> bool:
        """Whether the file was truncated, replaced or removed."""
        return self.file_state is _LOST

    @property
    def secondary(self) -> bool:
        """Whether another game is being played, which means that only lossless subscribers receive this one."""
        return self.role is _SECONDARY

    def catch_up(self) -> None:
        """Begin to read a file that is older than the daemon."""
        self._resumed_state = _CATCHING_UP
        self._enter(_CATCHING_UP)

    def go_live(self) -> None:
        """Note that the file was read to its end. If the game was left or lost, this takes effect when it resumes."""
        self._resumed_state = _LIVE
        if self.catching_up:
            self._enter(_LIVE)

    def leave(self) -> None:
        """Stop waiting for the rest of a game. If the game has ended, this does nothing."""
        if not self.ended:
            self._enter(_LEFT)

    def lose(self) -> None:
        """Note that it isn't possible to follow the file any more."""
        self._enter(_LOST)

    def resume(self) -> None:
        """Follow a game again that was left or lost. It is live or catching up, depending on what it was before."""
        self._enter(self._resumed_state)

    def _enter(self, state: FileState) -> None:
        self.file_state = state
        self.catching_up = state is _CATCHING_UP  # a field, because it is read several times for each frame

    @property
    def newest_frame(self) -> LogMessage | None:
        """The newest `frame` message in the live log."""
        return self.logs["live"].newest_frame

    @property
    def newest_frame_number(self) -> int | None:
        """The frame number of the newest `frame` message in the live log."""
        return None if self.newest_frame is None else self.newest_frame.frame

    @property
    def in_progress(self) -> bool:
        """Whether the game has begun, but has not ended yet and was neither left nor lost."""
        is_followed = self.file_state is _LIVE or self.file_state is _CATCHING_UP
        return is_followed and self.start is not None and not (self.ended or self.archived)

    @property
    def is_played(self) -> bool:
        """Whether the game is being played, or was until now.

        While the daemon is catching up with the file, this is false.
        """
        return self.start is not None and self.role is _PLAYED and not (self.catching_up or self.archived)

    def append(self, mode: FramesMode, messages: Sequence[LogMessage]) -> None:
        """Append new messages of one mode. They must be in order, and all of them must come after the head."""
        others = self.logs[mode].append(messages)
        if others and mode == "live":
            self.note(others)

    def note(self, messages: Sequence[LogMessage]) -> None:
        """Note new messages of the live log that are neither `frame` nor `finalized`."""
        for message in messages:
            kind = message.type
            if kind == "game_start":
                self.start = message
            elif kind == "stats":
                self.newest_stats = message
            elif kind == "game_end":
                self.ended = True

    def forget(self) -> None:
        """Free everything that can be read back from the file if it's needed again."""
        for log in self.logs.values():
            log.forget()
        self.log_reader.forget()
        self.newest_stats = None
