r"""The reader of `.slp` files turns bytes into events. It is used for the live path, `dump`, `verify` and to resume
from a cursor.

You pass it the file from its first byte on, in pieces of any size, and it returns each event as soon as it is certain.
Its stages are the same as in the file: header, Event Payloads, events (`game_events`), the bytes after the end of the
game, metadata, and the closing brace. It doesn't keep any bytes except for those of an incomplete event, and you get
the same events no matter how the bytes were split.

The events end at Game End, or at the raw length when it is set, or at an undeclared command byte that begins
`U\x08metadata`. Since the game writes the metadata before the raw length, the raw length is usually just a confirmation
that comes later.

The reader never raises a `FormatError`. Instead, you get a `Diagnostic`, and if a game has begun, it ends with the
reason `error`.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from enum import IntEnum, auto
from typing import ClassVar, NamedTuple, Self

from slpstream.formats.slippi import commands, container, metadata
from slpstream.formats.slippi.assembler import FramesBefore
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.framing import (
    EventPayloads,
    read_event_payloads,
    walk_events,
    width_of_event_payloads,
)
from slpstream.formats.slippi.game_events import FORMAT, GameEvents
from slpstream.formats.slippi.game_start import GameStartPayload, Settings
from slpstream.formats.slippi.result import CountLedgeGrabs
from slpstream.formats.text import BAD_TEXT
from slpstream.model import events
from slpstream.model.errors import FieldError, FormatError, FramingError
from slpstream.model.events import Event

_NO_FRAMES = FramesBefore()


class Stage(IntEnum):
    """Where in the file the reader is."""

    HEADER = auto()
    EVENT_PAYLOADS = auto()
    EVENTS = auto()
    AFTER_END = auto()
    METADATA = auto()
    CLOSE = auto()
    DONE = auto()
    ABANDONED = auto()
    """The rest of the file is unreadable and ignored; earlier events stand."""


_EVENTS = Stage.EVENTS  # looking up a member of an enum class takes several times as long as a global (Python 3.11)


class SlippiReader:
    """Reads one Slippi replay.

    Call `feed` with the bytes in order. If the header has changed, call `rewrite`, and after the last byte, call
    `finish`.
    """

    format: ClassVar[str] = FORMAT
    rewritable_bytes: ClassVar[int] = container.HEADER_BYTES

    def __init__(self) -> None:
        self.stage = Stage.HEADER
        self.failure: FormatError | None = None
        """The error that ended the log, if the bytes were wrong."""
        self.raw_length_bytes = 0
        """The raw length in the header. It is 0 while the game runs, and stays 0 in some files."""
        self.events_end: int | None = None
        """File offset just past the last event, or `None` while the raw array can still grow."""
        self._buffer = b""
        self._base = 0
        self._needed_bytes = 0
        self._waits_for_frames = True
        """Whether to wait for the rest of a frame that is cut off, instead of taking its events one by one."""
        self._game: GameEvents | None = None
        """`None` before the end of Event Payloads."""
        self._metadata: metadata.MetadataDecoder | None = None
        self._length_confirmed = False
        self._diagnostics = DiagnosticLimiter()

    def copy(self) -> Self:
        """Return a copy of this reader, which takes a few kilobytes.

        It has the same state, but is independent from then on.
        """
        twin = copy.copy(self)
        twin._diagnostics = self._diagnostics.copy()
        twin._game = None if self._game is None else self._game.copy(twin._diagnostics)
        twin._metadata = None if self._metadata is None else self._metadata.copy()
        return twin

    def resumed_after_frames(
        self, offset: int, frames: FramesBefore = _NO_FRAMES, count_ledge_grabs: CountLedgeGrabs = dict
    ) -> Self:
        """Return a copy that continues after the frames, at the file offset `offset`. This reader must have read Game
        Start.

        Use this if you find the frames in another way. `frames` are those before `offset`. If ledge grabs can decide
        the game, `count_ledge_grabs` is called to get them by player index.
        """
        twin = self.copy()
        twin._base = offset
        if twin._game is not None:
            twin._game.place_after(frames, count_ledge_grabs)
        return twin

    @property
    def closed(self) -> bool:
        """Whether the log is complete, so that it stays the same no matter which bytes follow."""
        if self.failure is not None:
            return True
        return self.stage is Stage.ABANDONED or (self.stage is Stage.DONE and self.raw_length_bytes > 0)

    @property
    def pending(self) -> bool:
        """This is always false, because `feed` returns every event that is certain."""
        return False

    def more(self, max_frames: int) -> list[Event]:
        """Always empty, because nothing is ever `pending`."""
        return []

    @property
    def event_payloads(self) -> EventPayloads | None:
        """The declared sizes of events. Before the end of Event Payloads, this is `None`."""
        return None if self._game is None else self._game.payloads

    @property
    def game_start(self) -> GameStartPayload | None:
        """The bytes of Game Start, or `None` if we haven't got there yet."""
        return None if self._game is None else self._game.game_start

    @property
    def gecko_list(self) -> bytes | None:
        """The Gecko List, or `None` if it isn't complete yet or the replay doesn't have one."""
        return None if self._game is None else self._game.gecko_list

    @property
    def settings(self) -> Settings | None:
        """The settings; `None` before Game Start."""
        return None if self._game is None else self._game.settings

    def take_command_counts(self) -> dict[str, int]:
        """Return how many events were read since the last time you called this.

        The keys are command bytes in the form `0x37`.
        """
        counts = {} if self._game is None else self._game.take_counts()
        return {f"{command:#04x}": count for command, count in counts.items()}

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes of the file, and return those events that are certain now."""
        if self.failure is not None:
            return []
        self._buffer = buffer = self._buffer + data if self._buffer else data
        if self._needed_bytes:  # a growing file often comes in pieces of a few bytes
            if len(buffer) < self._needed_bytes:
                return []
            self._needed_bytes = 0
        out: list[Event] = []
        game = self._game
        if game is not None and game.assembler is not None and self.stage is _EVENTS and not self.raw_length_bytes:
            # The usual case, sixty times a second: the bytes are whole frames, and nothing else.
            end = game.assembler.take_in_order(buffer, 0, sys.maxsize, self._base, out)
            self._buffer = buffer[end:]
            self._base += end
            if not self._buffer:
                if game.is_watching or game.assembler.noted >= game.settled_through:
                    game.settle(out)
                return out
        return self._run(self._advance, out)

    def rewrite(self, header: bytes) -> list[Event]:
        """Take the first `rewritable_bytes` of the file again, because they have changed.

        Returns those events that are certain now.
        """
        if self.failure is not None or self.stage is Stage.HEADER:
            return []

        def advance(out: list[Event]) -> None:
            self._take_cut_frame(out)
            container.check_magic(header)
            self.raw_length_bytes = container.raw_length(header)
            self._needed_bytes = 0
            self._advance(out)
            self._confirm_length(out)

        return self._run(advance, [])

    def finish(self) -> list[Event]:
        """End the log, because there won't be any more bytes, and return its last events.

        If the game isn't finished, it ends as `incomplete`.
        """
        if self.failure is not None:
            return []
        return self._run(self._finish, [])

    def _run(self, work: Callable[[list[Event]], None], out: list[Event]) -> list[Event]:
        """Add events to `out` by doing some work, and return it. If the bytes are wrong, they end the log."""
        try:
            work(out)
        except FormatError as error:
            self._fail(error, out)
        if out and self._game is not None:
            self._game.settle(out)
        return out

    def _advance(self, out: list[Event]) -> None:
        while self._STEPS[self.stage](self, out):
            pass

    def _take_cut_frame(self, out: list[Event]) -> None:
        """Take the events of a frame for whose rest we have waited."""
        if self.stage is Stage.EVENTS:
            self._waits_for_frames = False
            self._advance(out)
            self._waits_for_frames = True

    def _read_header(self, out: list[Event]) -> bool:
        container.check_magic(self._buffer)
        if len(self._buffer) < container.HEADER_BYTES:
            return False
        self.raw_length_bytes = container.raw_length(self._buffer)
        self._consume(container.HEADER_BYTES)
        self.stage = Stage.EVENT_PAYLOADS
        return True

    def _read_event_payloads(self, out: list[Event]) -> bool:
        if not self._buffer:
            return False
        width = width_of_event_payloads(self._buffer, 0, self._base)
        if width is None or len(self._buffer) < width:
            return False
        self._game = GameEvents(read_event_payloads(self._buffer[:width]), self._diagnostics)
        self._consume(width)
        self.stage = Stage.EVENTS
        return True

    def _read_events(self, out: list[Event]) -> bool:
        """Take all whole events in the buffer."""
        game = self._game
        if game is None:
            return False
        buffer, base, takes, counts = self._buffer, self._base, game.takes, game.counts
        widths = game.payloads.widths
        limit = len(buffer)
        raw_end = self._raw_end
        if raw_end is not None:
            limit = min(limit, raw_end - base)
        first_of_frame = game.first_command
        start = 0
        # The loop of `walk_events`, inline because this is the hot path, and because it steps over whole frames, too.
        try:
            while start < limit:
                command = buffer[start]
                width = widths[command]
                if width == 0:
                    break
                if command == first_of_frame and game.assembler is not None:
                    end = game.assembler.take_whole_frames(buffer, start, limit, base, out)
                    if end > start:
                        start = end
                        continue
                    if self._waits_for_frames and limit == len(buffer) and (raw_end is None or base + limit < raw_end):
                        needed_end = game.assembler.needed_for_frame(buffer, start, limit)
                        if needed_end:
                            self._needed_bytes = needed_end - start
                            if raw_end is not None:
                                self._needed_bytes = min(self._needed_bytes, raw_end - base - start)
                            return False
                end = start + width
                if end > limit:
                    break
                take = takes[command]
                if take is not None:
                    take(game, buffer, start, end, base + end, out)
                counts[command] += 1
                start = end
                if game.ended:
                    break
        finally:
            self._consume(start)
        if game.ended:
            self.stage = Stage.AFTER_END
            return True
        if raw_end is not None and self._base + len(self._buffer) >= raw_end:
            return self._end_at_raw_length(game, raw_end, out)
        if not self._buffer:
            return False
        width = widths[self._buffer[0]]
        if width == 0:
            return self._end_at_marker(game, out)
        self._needed_bytes = width if raw_end is None else min(width, raw_end - self._base)
        return False

    def _end_at_raw_length(self, game: GameEvents, raw_end: int, out: list[Event]) -> bool:
        """If all bytes up to the raw length are in the buffer, end the game there."""
        if self._base < raw_end:
            command = self._buffer[0]
            if game.payloads.widths[command] == 0:
                return self._end_at_marker(game, out)
            self._warn("event_crosses_raw_length", "the raw length ends in the middle of an event", self._base, out)
            self._consume(raw_end - self._base)
        game.end(self._base, "raw_length", None, out)
        self.stage = Stage.AFTER_END
        return True

    def _end_at_marker(self, game: GameEvents, out: list[Event]) -> bool:
        """If the metadata begins at an undeclared command byte, end the game there.

        For any other undeclared command byte, this raises `FramingError`.
        """
        marker = metadata.MARKER
        if not self._buffer.startswith(marker[: len(self._buffer)]):
            command = self._buffer[0]
            raise FramingError(f"undeclared command byte {command:#04x}", offset=self._base, command=command)
        if len(self._buffer) < len(marker):
            return False
        game.end(self._base, "raw_length", None, out)
        self.stage = Stage.AFTER_END
        return True

    def _read_after_end(self, out: list[Event]) -> bool:
        """Find the metadata or the closing brace. If there are events before that, skip them with a warning."""
        if self._game is None:
            return False
        widths = self._game.payloads.widths
        base, past = self._base, 0
        for command, start, end in walk_events(self._buffer, 0, len(self._buffer), widths):
            if base + start == self._raw_end:
                break
            past = end
            kind = "duplicate_game_end" if command == commands.GAME_END.command else "event_after_end"
            self._warn(kind, f"the event {command:#04x} comes after the end of the game", base + end, out)
        self._consume(past)
        if not self._buffer or (self._base != self._raw_end and widths[self._buffer[0]]):
            return False
        if self._buffer[:1] == container.CLOSE:
            self.events_end = self._base
            self.stage = Stage.CLOSE
            return True
        marker = metadata.MARKER
        if not self._buffer.startswith(marker[: len(self._buffer)]):
            self._warn("garbage_after_end", "what follows the end of the game is no metadata", self._base, out)
            self._abandon()
            return False
        if len(self._buffer) < len(marker):
            return False
        self.events_end = self._base
        self._consume(len(marker))
        self._metadata = metadata.MetadataDecoder(self._base)
        self.stage = Stage.METADATA
        return True

    def _read_metadata(self, out: list[Event]) -> bool:
        if self._metadata is None:
            return False
        try:
            decoded = self._metadata.advance(self._buffer)
        except FieldError as error:
            self._warn("bad_metadata", error.what, error.offset, out)
            self._abandon()
            return False
        if decoded is None:
            return False
        start = self._base
        self._consume(decoded.length_bytes)
        if decoded.bad_text is not None:
            self._warn(BAD_TEXT, "a text in the metadata has bytes that are not UTF-8", start + decoded.bad_text, out)
        self._metadata = None
        out.append(events.Metadata(self._base, decoded.values))
        self.stage = Stage.CLOSE
        return True

    def _read_close(self, out: list[Event]) -> bool:
        if not self._buffer:
            return False
        if self._buffer[:1] != container.CLOSE:
            self._warn("not_closed", "the closing brace of the file is missing", self._base, out)
            self._abandon()
            return False
        self._consume(1)
        self.stage = Stage.DONE
        return True

    def _read_done(self, out: list[Event]) -> bool:
        self._confirm_length(out)
        if self._buffer:
            self._warn("trailing_bytes", "the file goes on behind its closing brace", self._base, out)
            self._abandon()
        return False

    def _drop(self, out: list[Event]) -> bool:
        self._consume(len(self._buffer))
        return False

    _STEPS: ClassVar[dict[Stage, Callable[[SlippiReader, list[Event]], bool]]] = {
        Stage.HEADER: _read_header,
        Stage.EVENT_PAYLOADS: _read_event_payloads,
        Stage.EVENTS: _read_events,
        Stage.AFTER_END: _read_after_end,
        Stage.METADATA: _read_metadata,
        Stage.CLOSE: _read_close,
        Stage.DONE: _read_done,
        Stage.ABANDONED: _drop,
    }

    def _finish(self, out: list[Event]) -> None:
        self._take_cut_frame(out)
        end = self._base + len(self._buffer)
        game = self._game
        if game is None or game.settings is None:
            raise FramingError("the file ends before Game Start", offset=end)
        if not game.ended:
            if self._buffer:
                self._warn("truncated", "the file ends in the middle of an event", self._base, out)
            game.end(self._base, "incomplete", None, out)
        elif self.stage is Stage.METADATA:
            self._warn("truncated", "the file ends in the metadata", end, out)
        self.stage = Stage.DONE
        self._needed_bytes = 0

    @property
    def _raw_end(self) -> int | None:
        return container.HEADER_BYTES + self.raw_length_bytes if self.raw_length_bytes else None

    def _consume(self, count: int) -> None:
        if count:
            self._buffer = self._buffer[count:]
            self._base += count

    def _confirm_length(self, out: list[Event]) -> None:
        """If the file is closed, check that the raw length in the header agrees with the end of the events."""
        if self._length_confirmed or self.stage is not Stage.DONE or not self.raw_length_bytes:
            return
        self._length_confirmed = True
        if self.events_end is not None and self.events_end != self._raw_end:
            seen = self.events_end - container.HEADER_BYTES
            self._warn(
                "raw_length_mismatch",
                f"the raw length says {self.raw_length_bytes}, the events are {seen} bytes",
                0,
                out,
            )

    def _abandon(self) -> None:
        self._consume(len(self._buffer))
        self._metadata = None
        self.stage = Stage.ABANDONED

    def _fail(self, error: FormatError, out: list[Event]) -> None:
        self.failure = error.with_traceback(None)  # a traceback would keep this reader alive
        self._diagnostics.report(out, "error", error.code, error.what, error.offset, self._base)
        game = self._game
        if game is not None and game.settings is not None and not game.ended:
            game.end(self._base, "error", None, out)
        self._buffer = b""

    def _warn(self, code: str, message: str, offset: int, out: list[Event]) -> None:
        self._diagnostics.report(out, "warning", code, message, offset, self._base)


class Head(NamedTuple):
    """A reader that has read everything up to the end of Game Start, and what it has found."""

    reader: SlippiReader
    payloads: EventPayloads
    game_start: GameStartPayload
    at: int
    """The position after Game Start."""
    events: list[Event]


def read_head(data: bytes) -> Head:
    """Read a replay up to Game Start, event by event.

    `data` doesn't have to be the whole file, as long as it contains Game Start. If it doesn't, this raises
    `FormatError`.
    """
    reader = SlippiReader()
    events = reader.feed(data[: container.HEADER_BYTES + 1])
    at = container.HEADER_BYTES + 1
    if reader.failure is None and len(data) > at:
        width = width_of_event_payloads(data, container.HEADER_BYTES, container.HEADER_BYTES) or 0
        events += reader.feed(data[at : container.HEADER_BYTES + width])
        at = container.HEADER_BYTES + width
    while reader.failure is None and reader.game_start is None:
        payloads = reader.event_payloads
        width = payloads.widths[data[at]] if payloads is not None and at < len(data) else 0
        past = at + width if width else len(data)
        events += reader.feed(data[at:past])
        at = past
        if at >= len(data) and reader.game_start is None:
            events += reader.finish()
    if reader.failure is not None or reader.event_payloads is None or reader.game_start is None:
        raise reader.failure or FramingError("the file ends before Game Start", offset=len(data))
    return Head(reader, reader.event_payloads, reader.game_start, at, events)
