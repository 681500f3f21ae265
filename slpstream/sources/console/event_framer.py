"""The bytes of a console's events to whole events, game by game. Sans-IO.

A console sends events without an envelope: Event Payloads begins a game, its table says where each event ends, and
the next Event Payloads begins the next game. Game End does not end the bytes: a second one can follow it.

Only whole events come out, so that what was recorded is a valid replay wherever the connection breaks. When bytes are
lost (`gap`) or the boundaries are (an undeclared command), the way back in is found by what a game cannot fake: Event
Payloads with Game Start behind it, which is another game; or, after a gap, a run of declared events whose frame
numbers belong together and are not before the last one.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from msgspec import Struct

from slpstream.formats.slippi.commands import (
    EVENT_PAYLOADS,
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    GAME_START,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
)
from slpstream.formats.slippi.framing import EventPayloads, read_event_payloads, width_of_event_payloads
from slpstream.model.errors import FramingError
from slpstream.sources.console.wire import HELO

_END = GAME_END.command
_PER_FRAME = frozenset(t.command for t in (FRAME_START, PRE_FRAME, ITEM_UPDATE, POST_FRAME, FRAME_BOOKEND))
_POST = POST_FRAME.command
_FRAME_NUMBER = slice(1, 5)
_PLAYER_AT, _CHARACTER_AT = 5, 7
_RUN_EVENTS = 6
"""So many events in a row are no accident."""
_RUN_FRAMES = 60
"""Frame numbers that belong together are not farther apart."""
_BACKWARD_FRAMES = 10
"""A rollback is shorter; a frame number further back is another game's."""
_MAX_SOUGHT_BYTES = 256 * 1024
_VERSION_MAJOR_MOST = 9


Characters: TypeAlias = dict[int, dict[int, int]]
"""For each player index: how many post-frame updates each internal character id has."""


class Begun(Struct, frozen=True):
    """A game begins. `head` is its Event Payloads and Game Start."""

    head: bytes


class Events(Struct, frozen=True):
    """Whole events of the game that has begun, behind its head; `ended` once Game End was among them. `frame` is the
    highest frame number so far, `characters` what the cutter counts."""

    data: bytes
    ended: bool
    frame: int | None
    characters: Characters


class Skipped(Struct, frozen=True):
    """Bytes that belong to no game that we have the beginning of. `what` says why, `size_bytes` how many."""

    size_bytes: int
    what: str


class Broken(Struct, frozen=True):
    """The game that has begun cannot go on: its boundaries are lost, or another game follows without a beginning."""

    what: str


Cut: TypeAlias = Begun | Events | Skipped | Broken


class GameFramer:
    """Feed it the bytes of one connection after the other; it says what of it is which game's."""

    def __init__(self) -> None:
        self._buffer = b""
        self._widths: list[int] | None = None
        self._table: EventPayloads | None = None
        self._seeking: str | None = None
        """Why the next boundary is looked for; `None` when we stand on one."""
        self._sought = 0
        """How far it was looked for: no byte of the buffer before this is one, whatever comes."""
        self._ended = False
        self.frame: int | None = None
        """Highest frame number of the game."""
        self.characters: Characters = {}

    @property
    def in_game(self) -> bool:
        """A game has begun, and has not ended."""
        return self._widths is not None and not self._ended

    @property
    def waiting_bytes(self) -> int:
        """What is held of an event that is not complete, or of what is still unclear."""
        return len(self._buffer)

    def resume(self, head: bytes, behind: bytes, frame: int | None) -> None:
        """Stand where an earlier one stood: in the game with this head, `behind` the bytes of an event that is not
        complete."""
        width = width_of_event_payloads(head, 0, 0) or 0
        self._begin(head[:width])
        self._buffer, self.frame = behind, frame

    def restart(self) -> None:
        """What comes now begins at a boundary, mostly with a game: the console does not go on where it stopped."""
        self._buffer = b""
        self._widths = self._table = self._seeking = None
        self._ended = False
        self.frame = None
        self.characters = {}

    def gap(self) -> int:
        """Bytes are missing before what comes now. How many of an incomplete event are dropped with them."""
        dropped = len(self._buffer)
        self._buffer = b""
        self._seek_on("bytes are lost")
        return dropped

    def feed(self, data: bytes) -> list[Cut]:
        """The next bytes."""
        self._buffer += data
        cuts: list[Cut] = []
        while self._seek(cuts) and self._step(cuts):
            pass
        return cuts

    # -- on a boundary ------------------------------------------------------------------------------------------------

    def _step(self, cuts: list[Cut]) -> bool:
        """Takes what is at the start of the buffer; false when more bytes are needed."""
        if not self._buffer:
            return False
        if self._buffer[0] == EVENT_PAYLOADS:
            return self._begin_game(cuts)
        if HELO.startswith(self._buffer[: len(HELO)]) and not self._declared(HELO[0]):
            if len(self._buffer) < len(HELO):
                return False
            self._buffer = self._buffer[len(HELO) :]
            return True
        if self._widths is None:
            self._seek_on("no game has begun")
            return True
        return self._take_events(self._widths, cuts)

    def _declared(self, command: int) -> bool:
        return self._widths is not None and self._widths[command] > 0

    def _begin_game(self, cuts: list[Cut]) -> bool:
        head = _head_of(self._buffer)
        if head is None:
            return False
        if not head:
            self._lose("Event Payloads without a game behind it", cuts)
            self._buffer = self._buffer[1:]
            cuts.append(Skipped(1, "no game has begun"))
            return True
        width = width_of_event_payloads(head, 0, 0) or 0
        self._begin(head[:width])
        self._buffer = self._buffer[len(head) :]
        cuts.append(Begun(head))
        return True

    def _begin(self, event_payloads: bytes) -> None:
        self._table = read_event_payloads(event_payloads)
        self._widths = list(self._table.widths)
        self._widths[EVENT_PAYLOADS] = 0  # some declare it; it still begins another game
        self._ended = False
        self._seeking = None
        self.frame = None
        self.characters = {}

    def _take_events(self, widths: list[int], cuts: list[Cut]) -> bool:
        buffer = self._buffer
        size = len(buffer)
        at = 0
        lost = False
        while at < size:
            command = buffer[at]
            width = widths[command]
            if not width:
                break
            if at + width > size:
                break
            if command in _PER_FRAME and width > 4:
                number = int.from_bytes(buffer[at + 1 : at + 5], "big", signed=True)
                if self.frame is None or number > self.frame:
                    self.frame = number
                if command == _POST and width > _CHARACTER_AT:
                    used = self.characters.setdefault(buffer[at + _PLAYER_AT], {})
                    character = buffer[at + _CHARACTER_AT]
                    used[character] = used.get(character, 0) + 1
            elif command == _END:
                self._ended = True
            at += width
        if at < size and not widths[buffer[at]] and buffer[at] != EVENT_PAYLOADS:
            lost = not HELO.startswith(buffer[at : at + len(HELO)])
        if at:
            cuts.append(Events(buffer[:at], self._ended, self.frame, self.characters))
            self._buffer = buffer[at:]
        if lost:
            self._lose(f"undeclared command {buffer[at]:#04x}", cuts)
            return True
        return bool(at) and bool(self._buffer) and not widths[self._buffer[0]]

    def _lose(self, what: str, cuts: list[Cut]) -> None:
        if self._widths is not None:
            cuts.append(Broken(what))
        self._widths = self._table = None
        self._ended = False
        self._seek_on(what)

    # -- looking for one ----------------------------------------------------------------------------------------------

    def _seek_on(self, what: str) -> None:
        self._seeking, self._sought = what, 0

    def _seek(self, cuts: list[Cut]) -> bool:
        """Whether the buffer begins at a boundary."""
        what = self._seeking
        if what is None:
            return True
        buffer = self._buffer
        full = len(buffer) >= _MAX_SOUGHT_BYTES
        at = len(buffer)
        for candidate in self._candidates().finditer(buffer, self._sought):
            verdict = self._is_boundary(buffer, candidate.start())
            if verdict is True:
                return self._found(candidate.start(), what, cuts)
            if verdict is None and not full:
                at = candidate.start()  # it may still turn out to be one
                break
        self._sought = at
        if at and self._widths is None:
            cuts.append(Skipped(at, what))
            self._buffer, self._sought = buffer[at:], 0
        elif full:
            self._lose("no event was found again behind lost bytes", cuts)
            cuts.append(Skipped(len(buffer), what))
            self._buffer = b""
        return False

    def _candidates(self) -> re.Pattern[bytes]:
        """Finds the commands that can stand at a boundary."""
        commands = [EVENT_PAYLOADS] if self._widths is None else [EVENT_PAYLOADS, _start_of_frame(self._widths)]
        return re.compile(b"[%b]" % b"".join(b"\\x%02x" % command for command in commands))

    def _found(self, at: int, what: str, cuts: list[Cut]) -> bool:
        if at:
            cuts.append(Skipped(at, what))
        self._buffer = self._buffer[at:]
        self._seeking = None
        if self._buffer[0] != EVENT_PAYLOADS and self.frame is not None:
            number = int.from_bytes(self._buffer[_FRAME_NUMBER], "big", signed=True)
            if number < self.frame - _BACKWARD_FRAMES:
                self._lose("another game goes on, of which the beginning is lost", cuts)
                return True
        return True

    def _is_boundary(self, buffer: bytes, at: int) -> bool | None:
        """`None` when more bytes are needed to tell."""
        if buffer[at] == EVENT_PAYLOADS:
            head = _head_of(buffer[at : at + 4096])
            return None if head is None else bool(head)
        return self._widths is not None and _is_run(buffer, at, self._widths)


def _start_of_frame(widths: list[int]) -> int:
    """The command of the first event of a frame."""
    return FRAME_START.command if widths[FRAME_START.command] else PRE_FRAME.command


def _is_run(buffer: bytes, at: int, widths: list[int]) -> bool | None:
    """Whether whole events with frame numbers of one moment begin here."""
    numbers: list[int] = []
    if buffer[at] != _start_of_frame(widths):
        return False
    events = 0
    while True:
        if at >= len(buffer):
            return None
        command = buffer[at]
        width = widths[command]
        if not width:
            return events >= _RUN_EVENTS or (command == EVENT_PAYLOADS and events > 0)
        if at + width > len(buffer):
            return None
        if command in _PER_FRAME:
            numbers.append(int.from_bytes(buffer[at + 1 : at + 5], "big", signed=True))
            if numbers[-1] < -123 or max(numbers) - min(numbers) > _RUN_FRAMES:
                return False
        events += 1
        if events >= _RUN_EVENTS or command == _END:
            return True
        at += width


def _head_of(buffer: bytes) -> bytes | None:
    """Event Payloads and Game Start at the start of the buffer; `None` when bytes are missing, empty when that is not
    what stands there."""
    try:
        width = width_of_event_payloads(buffer, 0, 0)
    except FramingError:
        return b""
    if width is None or len(buffer) < width:
        return None
    size = read_event_payloads(buffer[:width]).size(GAME_START)
    if size is None:
        return b""
    if len(buffer) > width and buffer[width] != GAME_START:
        return b""
    if len(buffer) > width + 1 and buffer[width + 1] > _VERSION_MAJOR_MOST:
        return b""
    end = width + 1 + size
    return buffer[:end] if len(buffer) >= end else None
