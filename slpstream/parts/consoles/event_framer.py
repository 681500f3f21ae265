"""Splits the bytes of a console into games and whole events. This doesn't do any I/O.

A console sends events without an envelope. Event Payloads begins a game, and its table gives the size of each event.
The next Event Payloads begins the next game. Game End does not end the bytes, because a second Game End can follow.

Only whole events come out. This means that a recording is a valid replay wherever the connection breaks. After missing
bytes (`gap`) or an undeclared command, we no longer know where events begin. To find this out again, we look for byte
sequences that hardly occur by chance. One of them is Event Payloads followed by Game Start, which is another game.
After a gap, a run of declared events works as well, provided that their frame numbers are close to each other and
continue the game.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    GAME_START,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
)
from slpstream.formats.slippi.framing import EVENT_PAYLOADS, event_payloads_at, read_event_payloads
from slpstream.model.errors import FramingError
from slpstream.parts.consoles.wire import HELO

_END = GAME_END.command
_PER_FRAME = frozenset(t.command for t in (FRAME_START, PRE_FRAME, ITEM_UPDATE, POST_FRAME, FRAME_BOOKEND))
_POST = POST_FRAME.command
# Offsets in an event, command byte included.
_FRAME_NUMBER = slice(1, 5)
_PLAYER_AT, _CHARACTER_AT = 5, 7
_RUN_EVENTS = 6
"""This many events in a row can't be a coincidence."""
_RUN_FRAMES = 60
"""The limit for the difference between the frame numbers in such a run."""
_BACKWARD_FRAMES = 10
"""The limit for a step back to an earlier frame number. It is longer than any rollback, so a frame number that is
further back must belong to another game."""
_MAX_SEARCH_BYTES = 256 * 1024
_MAX_CANDIDATES = 4096
"""The limit for the candidates that are tried in one search. In the number of bytes that we search, half as many occur
by chance."""
_MAX_MAJOR_VERSION = 9


Characters: TypeAlias = dict[int, dict[int, int]]
"""The number of Post-Frame Updates, by player index and internal character id."""


class GameBegan(Struct, frozen=True):
    """A game begins. `head` consists of its Event Payloads and Game Start."""

    head: bytes


class GameEvents(Struct, frozen=True):
    """Whole events of the current game, after its head.

    `ended` means that Game End was received. `frame` is the highest frame number so far.
    """

    data: bytes
    ended: bool
    frame: int | None
    characters: Characters


class SkippedBytes(Struct, frozen=True):
    """Bytes that don't belong to any game whose beginning we know."""

    size_bytes: int
    reason: str


class GameBroken(Struct, frozen=True):
    """The current game can't be continued. Either its boundaries are lost, or a game follows whose beginning is
    missing.
    """

    reason: str


FramerOutput: TypeAlias = GameBegan | GameEvents | SkippedBytes | GameBroken


class GameFramer:
    """Splits the bytes of a source into games and whole events. They can come from any number of connections."""

    def __init__(self) -> None:
        self._buffer = b""
        self._widths: list[int] | None = None
        """The sizes of the current game's events by command byte. They include the command byte, and are 0 for
        undeclared commands."""
        self._lost_reason: str | None = None
        """The reason why the buffer may not begin at an event boundary, or `None` if it does."""
        self._searched = 0
        """How many bytes at the start of the buffer can't contain a boundary."""
        self._ended = False
        self.first_frame: int | None = None
        self.frame: int | None = None
        """The highest frame number of the current game."""
        self.characters: Characters = {}

    @property
    def in_game(self) -> bool:
        """Whether a game has begun and hasn't ended."""
        return self._widths is not None and not self._ended

    @property
    def buffered_bytes(self) -> int:
        """How many bytes we hold. These are an incomplete event, or a part whose boundaries we haven't found yet."""
        return len(self._buffer)

    def restart(self) -> None:
        """Note that the next bytes begin at an event boundary (usually that of a game), and don't continue the previous
        bytes.
        """
        self._buffer = b""
        self._widths = self._lost_reason = None
        self._ended = False
        self.first_frame = self.frame = None
        self.characters = {}

    def gap(self) -> int:
        """Note that bytes are missing before the next ones.

        If there is an incomplete event, it is dropped too. Returns the number of its bytes.
        """
        dropped = len(self._buffer)
        self._buffer = b""
        self._start_search("bytes are lost")
        return dropped

    def feed(self, data: bytes) -> list[FramerOutput]:
        """Take the next bytes, and return what comes out of them."""
        self._buffer += data
        output: list[FramerOutput] = []
        while self._find_boundary(output) and self._take_next(output):
            pass
        return output

    def _take_next(self, output: list[FramerOutput]) -> bool:
        """Take the next part of the buffer, which begins at a boundary.

        Returns False if we need more bytes for this.
        """
        if not self._buffer:
            return False
        if self._buffer[0] == EVENT_PAYLOADS:
            return self._take_head(output)
        if HELO.startswith(self._buffer[: len(HELO)]) and not self._is_declared(HELO[0]):
            if len(self._buffer) < len(HELO):
                return False
            self._buffer = self._buffer[len(HELO) :]
            return True
        if self._widths is None:
            self._start_search("no game has begun")
            return True
        return self._take_events(self._widths, output)

    def _is_declared(self, command: int) -> bool:
        return self._widths is not None and self._widths[command] > 0

    def _take_head(self, output: list[FramerOutput]) -> bool:
        head = _head_of(self._buffer)
        if head is None:
            return False
        if not head:
            self._lose_boundaries("Event Payloads without a game after it", output)
            self._buffer = self._buffer[1:]
            output.append(SkippedBytes(1, "no game has begun"))
            return True
        self._begin_game(head)
        self._buffer = self._buffer[len(head) :]
        output.append(GameBegan(head))
        return True

    def _begin_game(self, head: bytes) -> None:
        self._widths = list(read_event_payloads(head[: 1 + head[1]]).widths)
        self._widths[EVENT_PAYLOADS] = 0  # begins another game, even if the table declares it
        self._ended = False
        self._lost_reason = None
        self.first_frame = self.frame = None
        self.characters = {}

    def _take_events(self, widths: list[int], output: list[FramerOutput]) -> bool:
        buffer = self._buffer
        size = len(buffer)
        end = 0
        lost = False
        while end < size:
            command = buffer[end]
            width = widths[command]
            if not width:
                break
            if end + width > size:
                break
            if command in _PER_FRAME and width > 4:
                number = int.from_bytes(buffer[end + 1 : end + 5], "big", signed=True)
                if self.frame is None:
                    self.first_frame = self.frame = number
                elif number > self.frame:
                    self.frame = number
                if command == _POST and width > _CHARACTER_AT:
                    used = self.characters.setdefault(buffer[end + _PLAYER_AT], {})
                    character = buffer[end + _CHARACTER_AT]
                    used[character] = used.get(character, 0) + 1
            elif command == _END:
                self._ended = True
            end += width
        if end < size and not widths[buffer[end]] and buffer[end] != EVENT_PAYLOADS:
            lost = not HELO.startswith(buffer[end : end + len(HELO)])
        if end:
            output.append(GameEvents(buffer[:end], self._ended, self.frame, self.characters))
            self._buffer = buffer[end:]
        if lost:
            self._lose_boundaries(f"undeclared command {buffer[end]:#04x}", output)
            return True
        return bool(end) and bool(self._buffer) and not widths[self._buffer[0]]

    def _lose_boundaries(self, reason: str, output: list[FramerOutput]) -> None:
        if self._widths is not None:
            output.append(GameBroken(reason))
        self._widths = None
        self._ended = False
        self._start_search(reason)

    def _start_search(self, reason: str) -> None:
        self._lost_reason, self._searched = reason, 0

    def _find_boundary(self, output: list[FramerOutput]) -> bool:
        """Search for a boundary if we have lost it. Returns whether the buffer begins at one."""
        reason = self._lost_reason
        if reason is None:
            return True
        buffer = self._buffer
        full = len(buffer) >= _MAX_SEARCH_BYTES
        end = len(buffer)
        for candidate in islice(self._candidates().finditer(buffer, self._searched), _MAX_CANDIDATES if full else None):
            verdict = self._is_boundary(buffer, candidate.start())
            if verdict is True:
                return self._resume_at(candidate.start(), reason, output)
            if verdict is None and not full:
                end = candidate.start()  # this may still turn out to be a boundary
                break
        self._searched = end
        if end and self._widths is None:
            output.append(SkippedBytes(end, reason))
            self._buffer, self._searched = buffer[end:], 0
        elif full:
            self._lose_boundaries("could not resynchronise after a gap", output)
            output.append(SkippedBytes(len(buffer), reason))
            self._buffer = b""
        return False

    def _candidates(self) -> re.Pattern[bytes]:
        """Return a pattern for the commands that can stand at a boundary."""
        commands = [EVENT_PAYLOADS] if self._widths is None else [EVENT_PAYLOADS, _first_of_frame(self._widths)]
        return re.compile(b"[%b]" % b"".join(b"\\x%02x" % command for command in commands))

    def _resume_at(self, position: int, reason: str, output: list[FramerOutput]) -> bool:
        if position:
            output.append(SkippedBytes(position, reason))
        self._buffer = self._buffer[position:]
        self._lost_reason = None
        if self._buffer[0] != EVENT_PAYLOADS and self.frame is not None:
            number = int.from_bytes(self._buffer[_FRAME_NUMBER], "big", signed=True)
            if number < self.frame - _BACKWARD_FRAMES:
                self._lose_boundaries("another game continues, whose beginning is lost", output)
        return True

    def _is_boundary(self, buffer: bytes, position: int) -> bool | None:
        """Whether an event begins at `position`, or `None` if we need more bytes to decide this."""
        if buffer[position] == EVENT_PAYLOADS:
            if position + 1 < len(buffer):
                game_start = position + 1 + buffer[position + 1]
                if game_start < len(buffer) and buffer[game_start] != GAME_START:
                    return False  # decided without the table, for bytes that are full of candidates
            head = _head_of(buffer[position : position + 4096])
            return None if head is None else bool(head)
        return self._widths is not None and _is_run(buffer, position, self._widths)


def _first_of_frame(widths: list[int]) -> int:
    """Return the command of the first event of a frame."""
    return FRAME_START.command if widths[FRAME_START.command] else PRE_FRAME.command


def _is_run(buffer: bytes, position: int, widths: list[int]) -> bool | None:
    """Whether a run of events with neighbouring frame numbers begins here, or `None` if we need more bytes to decide
    this.
    """
    numbers: list[int] = []
    if buffer[position] != _first_of_frame(widths):
        return False
    events = 0
    while True:
        if position >= len(buffer):
            return None
        command = buffer[position]
        width = widths[command]
        if not width:
            return events >= _RUN_EVENTS or (command == EVENT_PAYLOADS and events > 0)
        if position + width > len(buffer):
            return None
        if command in _PER_FRAME:
            numbers.append(int.from_bytes(buffer[position + 1 : position + 5], "big", signed=True))
            if numbers[-1] < -123 or max(numbers) - min(numbers) > _RUN_FRAMES:
                return False
        events += 1
        if events >= _RUN_EVENTS or command == _END:
            return True
        position += width


def _head_of(buffer: bytes) -> bytes | None:
    """Return Event Payloads and Game Start at the start of the buffer.

    Returns `None` if bytes are missing. If the buffer begins with something else, the result is empty.
    """
    try:
        found = event_payloads_at(buffer, 0, 0)
    except FramingError:
        return b""
    if found is None:
        return None
    payloads, width = found
    size = payloads.sizes.get(GAME_START)
    if size is None:
        return b""
    if len(buffer) > width and buffer[width] != GAME_START:
        return b""
    if len(buffer) > width + 1 and buffer[width + 1] > _MAX_MAJOR_VERSION:
        return b""
    end = width + 1 + size
    return buffer[:end] if len(buffer) >= end else None
