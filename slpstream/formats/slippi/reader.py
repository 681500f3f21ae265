"""Bytes of a `.slp` in, events out: the one reader that the live path, `dump`, `verify` and every replay from a
cursor share.

It is fed the file from its first byte on, cut anywhere, and returns what became certain. The stages follow each
other: header, Event Payloads, events, what comes after the end, metadata, the closing brace. The reader keeps only
the bytes of an incomplete event. Nothing it returns depends on how the bytes were cut.

Where the events end: Game End; the raw length when it is set and reached; at an event boundary, an undeclared command
byte that begins `U\\x08metadata`. The game writes the metadata before it writes the raw length, so the raw length
only confirms, after the metadata.

A `FormatError` never leaves the reader: it becomes a `Diagnostic`, and a game that had begun ends with reason `error`.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from enum import IntEnum, auto
from typing import ClassVar, Self

import msgspec

from slpstream.formats.slippi import commands, container, metadata, result
from slpstream.formats.slippi.assembler import Assembler
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.frame_layout import FrameLayouts
from slpstream.formats.slippi.framing import EventPayloads, read_event_payloads, width_of_event_payloads
from slpstream.formats.slippi.game_start import (
    MAJOR_SCENE_ONLINE,
    SURE_OF_ZELDA_AND_SHEIK,
    GameStartPayload,
    Settings,
)
from slpstream.model import events
from slpstream.model.errors import FieldError, FormatError, FramingError
from slpstream.model.events import EndReason, Event, Frame, GameEnd, GameStart

FORMAT = "slippi"

Take = Callable[["SlippiReader", bytes, int, int, int], None]
"""(reader, buffer, position of the command byte, position past the event, file offset past the event): takes one event.
The reader is handed in, because a table of what holds the reader would make a circle, and those are freed late."""

_FRAME_START = commands.FRAME_START.command
_GECKO_LIST_LIMIT_BYTES = 1 << 20
_SPLITTER_USED, _SPLITTER_COMMAND, _SPLITTER_LAST = 0x201, 0x203, 0x204


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
    """What follows cannot be read and is dropped; what was read stands."""


class SlippiReader:
    """One Slippi replay: `feed` the bytes in order, `rewrite` when the header changed, `finish` when no more will
    come."""

    format: ClassVar[str] = FORMAT
    rewritable_bytes: ClassVar[int] = container.HEADER_BYTES

    def __init__(self) -> None:
        self.stage = Stage.HEADER
        self.failure: FormatError | None = None
        """What ended the log, when the bytes were wrong."""
        self.raw_length_bytes = 0
        """As the header has it; 0 while the game runs, and for good in some files."""
        self.event_payloads: EventPayloads | None = None
        self.game_start: GameStartPayload | None = None
        self.gecko_list: bytes | None = None
        """The list of Gecko codes, when the replay has one and it is complete."""
        self.events_end: int | None = None
        """File offset just past the raw array, when it is known."""
        self._buffer = b""
        self._base = 0
        self._needed_bytes = 0
        self._ended = False
        self._settings: Settings | None = None
        self._held_start: GameStart | None = None
        self._held_at = 0
        self._assembler: Assembler | None = None
        self._takes: list[Take | None] = []
        self._split = bytearray()
        self._scan: metadata.MetadataScan | None = None
        self._length_confirmed = False
        self._oddities = DiagnosticLimiter()
        self._counts = [0] * 256
        self._shapes: FrameLayouts | None = None
        self._out: list[Event] = []

    def copy(self) -> Self:
        """An independent reader at the same place: a checkpoint costs a few kilobytes."""
        twin = copy.copy(self)
        twin._split = bytearray(self._split)
        twin._oddities = self._oddities.copy()
        twin._counts = [0] * 256
        twin._shapes = None if self._shapes is None else self._shapes.copy()
        twin._out = []
        if self._scan is not None:
            twin._scan = self._scan.copy()
        if self._assembler is not None:
            twin._assembler = self._assembler.copy(twin._oddities)
            twin._assembler.out = twin._out  # what the last call made is not kept by a copy
        twin._bind()
        return twin

    def behind_frames(self, offset: int, last: Frame | None) -> Self:
        """Of a reader that has read Game Start: one that stands at `offset` behind the frames, the last of which is
        `last`. For those who find the frames another way."""
        twin = self.copy()
        twin._base = offset
        if twin._assembler is not None:
            twin._assembler.last = last
        return twin

    @property
    def closed(self) -> bool:
        """Nothing that can still be appended would change the log."""
        if self.failure is not None:
            return True
        return self.stage is Stage.ABANDONED or (self.stage is Stage.DONE and self.raw_length_bytes > 0)

    @property
    def pending(self) -> bool:
        """Never: what is certain is returned at once."""
        return False

    def more(self, max_frames: int) -> list[Event]:
        """Nothing; see `pending`."""
        return []

    @property
    def settings(self) -> Settings | None:
        """The settings, once Game Start was read."""
        return self._settings

    def take_command_counts(self) -> dict[str, int]:
        """How many events were read since the last call, by command byte as `0x37`."""
        for command, count in self._shapes.take_counts().items() if self._shapes is not None else ():
            self._counts[command] += count
        counts, self._counts = self._counts, [0] * 256
        return {f"{command:#04x}": count for command, count in enumerate(counts) if count}

    # -- what the outside calls
    # -----------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Event]:
        """The next bytes of the file; returns the events that they make certain."""
        if self.failure is not None:
            return []
        self._buffer = buffer = self._buffer + data if self._buffer else data
        if len(buffer) < self._needed_bytes:  # a live tail comes in crumbs
            return []
        self._needed_bytes = 0
        return self._run(self._advance)

    def rewrite(self, header: bytes) -> list[Event]:
        """The first `rewritable_bytes` of the file have changed to `header`."""
        if self.failure is not None or self.stage is Stage.HEADER:
            return []

        def advance() -> None:
            container.check_magic(header)
            self.raw_length_bytes = container.raw_length(header)
            self._needed_bytes = 0
            self._advance()
            self._confirm_length()

        return self._run(advance)

    def finish(self) -> list[Event]:
        """No more bytes will ever come: what is open ends as `incomplete`. Only a reader who knows calls this."""
        if self.failure is not None:
            return []
        return self._run(self._finish)

    # -- stages
    # ---------------------------------------------------------------------------------------------------------

    def _run(self, work: Callable[[], None]) -> list[Event]:
        out: list[Event] = []
        self._out = out
        self._held_at = 0
        if self._assembler is not None:
            self._assembler.out = out
        try:
            work()
        except FormatError as error:
            self._fail(error)
        if self._held_start is not None and len(out) > self._held_at:
            out.insert(self._held_at, self._start_as_played(self._held_start, out[self._held_at]))
            self._held_start = None
        self._out = []
        return out

    def _advance(self) -> None:
        while self._STEPS[self.stage](self):
            pass

    def _read_header(self) -> bool:
        container.check_magic(self._buffer)
        if len(self._buffer) < container.HEADER_BYTES:
            return False
        self.raw_length_bytes = container.raw_length(self._buffer)
        self._consume(container.HEADER_BYTES)
        self.stage = Stage.EVENT_PAYLOADS
        return True

    def _read_event_payloads(self) -> bool:
        if not self._buffer:
            return False
        width = width_of_event_payloads(self._buffer, 0, self._base)
        if width is None or len(self._buffer) < width:
            return False
        self.event_payloads = read_event_payloads(self._buffer[:width])
        self._shapes = FrameLayouts(self.event_payloads.widths)
        self._consume(width)
        self._bind()
        self.stage = Stage.EVENTS
        return True

    def _read_events(self) -> bool:
        """The hot loop: as many whole events as the buffer has."""
        buffer, base, takes = self._buffer, self._base, self._takes
        widths = self.event_payloads.widths  # type: ignore[union-attr]
        limit = len(buffer)
        raw_end = self._raw_end
        if raw_end is not None:
            limit = min(limit, raw_end - base)
        at = 0
        counts = self._counts
        try:
            while at < limit:
                code = buffer[at]
                width = widths[code]
                if width == 0:
                    break
                if code == _FRAME_START:
                    taken = self._take_whole_frame(buffer, at, limit)
                    if taken:
                        at += taken
                        continue
                past = at + width
                if past > limit:
                    break
                take = takes[code]
                if take is not None:
                    take(self, buffer, at, past, base + past)
                counts[code] += 1
                at = past
                if self._ended:
                    break
        finally:
            self._consume(at)
        if self._ended:
            self.stage = Stage.AFTER_END
            return True
        if raw_end is not None and self._base + len(self._buffer) >= raw_end:
            return self._end_at_raw_length(raw_end)
        if not self._buffer:
            return False
        width = widths[self._buffer[0]]
        if width == 0:
            return self._end_at_marker()
        self._needed_bytes = width if raw_end is None else min(width, raw_end - self._base)
        return False

    def _take_whole_frame(self, buffer: bytes, at: int, limit: int) -> int:
        """The short way (`whole_frame`): bytes taken, 0 when the frame has to go event by event."""
        assembler, shapes = self._assembler, self._shapes
        if assembler is None or shapes is None or not assembler.between_frames:
            return 0
        found = shapes.read(buffer, at, limit)
        if found is None:
            return 0
        frame, width = found
        assembler.whole_frame(frame, self._base + at + width)
        return width

    def _end_at_raw_length(self, raw_end: int) -> bool:
        """The raw length is set and its bytes are here."""
        if self._base < raw_end:
            code = self._buffer[0]
            if self.event_payloads is not None and self.event_payloads.widths[code] == 0:
                return self._end_at_marker()
            self._warn("event_crosses_raw_length", "the raw length ends in the middle of an event", self._base)
            self._consume(raw_end - self._base)
        self._end(self._base, "raw_length")
        self.stage = Stage.AFTER_END
        return True

    def _end_at_marker(self) -> bool:
        """An undeclared command byte: the metadata, or the boundaries are lost."""
        marker = metadata.MARKER
        if not self._buffer.startswith(marker[: len(self._buffer)]):
            code = self._buffer[0]
            raise FramingError(f"undeclared command byte {code:#04x}", offset=self._base, command=code)
        if len(self._buffer) < len(marker):
            return False
        self._end(self._base, "raw_length")
        self.stage = Stage.AFTER_END
        return True

    def _read_after_end(self) -> bool:
        """Between the end of the game and the metadata: nothing, or events that do not belong there."""
        if self.event_payloads is None:
            return False
        widths = self.event_payloads.widths
        buffer, base, at = self._buffer, self._base, 0
        while at < len(buffer) and base + at != self._raw_end:
            code = buffer[at]
            width = widths[code]
            if width == 0 or at + width > len(buffer):
                break
            at += width
            kind = "duplicate_game_end" if code == commands.GAME_END.command else "event_after_end"
            self._warn(kind, f"the event {code:#04x} comes after the end of the game", base + at)
        self._consume(at)
        if not self._buffer or (self._base != self._raw_end and widths[self._buffer[0]]):
            return False
        if self._buffer[:1] == container.CLOSE:
            self.events_end = self._base
            self.stage = Stage.CLOSE
            return True
        marker = metadata.MARKER
        if not self._buffer.startswith(marker[: len(self._buffer)]):
            self._warn("garbage_after_end", "what follows the end of the game is no metadata", self._base)
            self._abandon()
            return False
        if len(self._buffer) < len(marker):
            return False
        self.events_end = self._base
        self._consume(len(marker))
        self._scan = metadata.MetadataScan(self._base)
        self.stage = Stage.METADATA
        return True

    def _read_metadata(self) -> bool:
        scan = self._scan
        if scan is None:
            return False
        try:
            length = scan.advance(self._buffer)
            if length is None:
                return False
            values = metadata.decode(self._buffer[:length], offset=self._base)
        except FieldError as error:
            self._warn("bad_metadata", error.what, error.offset)
            self._abandon()
            return False
        self._consume(length)
        self._scan = None
        self._out.append(events.Metadata(self._base, values))
        self.stage = Stage.CLOSE
        return True

    def _read_close(self) -> bool:
        if not self._buffer:
            return False
        if self._buffer[:1] != container.CLOSE:
            self._warn("not_closed", "the closing brace of the file is missing", self._base)
            self._abandon()
            return False
        self._consume(1)
        self.stage = Stage.DONE
        return True

    def _read_done(self) -> bool:
        self._confirm_length()
        if self._buffer:
            self._warn("trailing_bytes", "the file goes on behind its closing brace", self._base)
            self._abandon()
        return False

    def _drop(self) -> bool:
        self._consume(len(self._buffer))
        return False

    _STEPS: ClassVar[dict[Stage, Callable[[SlippiReader], bool]]] = {
        Stage.HEADER: _read_header,
        Stage.EVENT_PAYLOADS: _read_event_payloads,
        Stage.EVENTS: _read_events,
        Stage.AFTER_END: _read_after_end,
        Stage.METADATA: _read_metadata,
        Stage.CLOSE: _read_close,
        Stage.DONE: _read_done,
        Stage.ABANDONED: _drop,
    }

    def _finish(self) -> None:
        end = self._base + len(self._buffer)
        if self.stage in (Stage.HEADER, Stage.EVENT_PAYLOADS) or self._settings is None:
            raise FramingError("the file ends before Game Start", offset=end)
        if not self._ended:
            if self._buffer:
                self._warn("truncated", "the file ends in the middle of an event", self._base)
            self._end(self._base, "incomplete")
        elif self.stage is Stage.METADATA:
            self._warn("truncated", "the file ends in the metadata", end)
        self.stage = Stage.DONE
        self._needed_bytes = 0

    # -- events
    # ---------------------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        """The table from command byte to what takes its event, for the declared sizes."""
        payloads = self.event_payloads
        if payloads is None:
            return
        takes: list[Take | None] = [None] * 256
        takes[commands.GAME_START] = SlippiReader._take_game_start
        takes[commands.MESSAGE_SPLITTER] = SlippiReader._take_message_splitter
        for command, table in commands.TABLES.items():
            size = payloads.size(command)
            if size is None:
                continue
            if self._assembler is None:
                takes[command] = SlippiReader._take_before_start
            elif len(table.layout(size).fields) < table.required:
                takes[command] = SlippiReader._take_too_small
            elif table is commands.GAME_END:
                takes[command] = SlippiReader._take_game_end
            else:
                takes[command] = _frame_take(self._assembler, command, size)
        self._takes = takes

    def _take_game_start(self, buffer: bytes, at: int, past: int, end: int) -> None:
        if self.game_start is not None:
            self._warn("duplicate_game_start", "a second Game Start", end)
            return
        data = buffer[at:past]
        start = GameStartPayload(data, offset=end - len(data))
        payloads = self.event_payloads
        scene = start.major_scene
        bookend_size = payloads.size(commands.FRAME_BOOKEND.command) if payloads is not None else None
        self.game_start = start
        self._settings = settings = start.settings()
        self._assembler = Assembler(
            self._oddities,
            bookends=bookend_size is not None,
            online=None if scene is None else scene == MAJOR_SCENE_ONLINE,
            finalized_field=(bookend_size or 0) >= commands.FRAME_BOOKEND.fields[1].end - 1,
        )
        self._assembler.out = self._out
        game_id = hashlib.sha256(data).hexdigest()[:32]
        event = GameStart(end, FORMAT, game_id, settings, (FRAMES_PER_SECOND, 1))
        if start.version < SURE_OF_ZELDA_AND_SHEIK and settings.has_zelda_or_sheik():
            self._held_start, self._held_at = event, len(self._out)
        else:
            self._out.append(event)
        takes = self._takes
        self._bind()
        takes[:] = self._takes  # the running loop holds the list
        self._takes = takes

    def _start_as_played(self, event: GameStart, following: Event) -> GameStart:
        """A Game Start that was held back, with what the event after it shows: the characters of frame -123."""
        if type(following) is not Frame or following.number != commands.FIRST_FRAME:
            return event
        posts = {index: p.post for index, p in following.entry.players.items() if p.post}
        internal_ids = {index: post.internal_character_id for index, post in posts.items()}
        self._settings = event.settings.as_played(internal_ids)
        return msgspec.structs.replace(event, settings=self._settings)

    def _take_before_start(self, buffer: bytes, at: int, past: int, end: int) -> None:
        code = buffer[at]
        raise FramingError(f"the event {code:#04x} comes before Game Start", offset=end - (past - at), command=code)

    def _take_too_small(self, buffer: bytes, at: int, past: int, end: int) -> None:
        title, size = commands.TABLES[buffer[at]].title, past - at - 1
        what = f"{title}: the declared size of {size} bytes is too small"
        raise FieldError(what, offset=end - (past - at), command=buffer[at])

    def _take_message_splitter(self, buffer: bytes, at: int, past: int, end: int) -> None:
        """Blocks of a larger event; the declared size of the inner command can have overflowed and does not count."""
        if past - at <= _SPLITTER_LAST:
            raise FieldError("Message Splitter is too small", offset=end - (past - at), command=buffer[at])
        if buffer[at + _SPLITTER_COMMAND] != commands.GECKO_LIST:
            return
        used = int.from_bytes(buffer[at + _SPLITTER_USED : at + _SPLITTER_COMMAND], "big")
        self._split += buffer[at + 1 : at + 1 + min(used, _SPLITTER_USED - 1)]
        if len(self._split) > _GECKO_LIST_LIMIT_BYTES:
            self._warn("gecko_list_too_long", "the Gecko List is longer than 1 MiB", end)
            self._split.clear()
        if buffer[at + _SPLITTER_LAST]:
            self.gecko_list = bytes(self._split)
            self._split.clear()

    def _take_game_end(self, buffer: bytes, at: int, past: int, end: int) -> None:
        event = commands.GAME_END.layout(past - at - 1).decode(buffer, at)
        self._end(end, "game_end", result.game_end_payload(event))

    def _end(self, end: int, reason: EndReason, payload: result.GameEndPayload | None = None) -> None:
        """The game is over: what is complete becomes final, then the end is said."""
        self._ended = True
        assembler, settings = self._assembler, self._settings
        if assembler is None or settings is None:
            raise FramingError("the events end before Game Start", offset=end)
        assembler.finish(end, clean=reason != "error")
        last = assembler.last
        number = None if last is None else last.number
        posts = {} if last is None else {index: p.post for index, p in last.entry.players.items() if p.post}
        self._out.append(
            GameEnd(
                end,
                reason,
                payload,
                result.winners(settings, payload, posts),
                number,
                result.duration_seconds(number),
                standings=result.standings(settings, posts),
            )
        )

    # -- the rest
    # -------------------------------------------------------------------------------------------------------

    @property
    def _raw_end(self) -> int | None:
        return container.HEADER_BYTES + self.raw_length_bytes if self.raw_length_bytes else None

    def _consume(self, count: int) -> None:
        if count:
            self._buffer = self._buffer[count:]
            self._base += count

    def _confirm_length(self) -> None:
        """Once the file is closed, the header's raw length is held against where the events ended."""
        if self._length_confirmed or self.stage is not Stage.DONE or not self.raw_length_bytes:
            return
        self._length_confirmed = True
        if self.events_end is not None and self.events_end != self._raw_end:
            seen = self.events_end - container.HEADER_BYTES
            self._warn(
                "raw_length_mismatch", f"the raw length says {self.raw_length_bytes}, the events are {seen} bytes", 0
            )

    def _abandon(self) -> None:
        self._drop()
        self._scan = None
        self.stage = Stage.ABANDONED

    def _fail(self, error: FormatError) -> None:
        self.failure = error.with_traceback(None)  # which would hold this reader
        self._oddities.say(self._out, "error", error.code, error.what, error.offset, self._base)
        if self._settings is not None and not self._ended:
            self._end(self._base, "error")
        self._buffer = b""

    def _warn(self, code: str, message: str, offset: int) -> None:
        self._oddities.say(self._out, "warning", code, message, offset, self._base)


def _frame_take(assembler: Assembler, command: int, size_bytes: int) -> Take:
    """What takes the events of a command that are parts of frames."""
    decode = commands.TABLES[command].layout(size_bytes).decode
    if command in commands.STAGE_EVENT_KINDS:
        return lambda reader, buffer, at, past, end: assembler.stage_event(decode(buffer, at), end, command)
    put = {
        commands.PRE_FRAME.command: assembler.pre_frame,
        commands.POST_FRAME.command: assembler.post_frame,
        commands.FRAME_START.command: assembler.frame_start,
        commands.ITEM_UPDATE.command: assembler.item,
        commands.FRAME_BOOKEND.command: assembler.bookend,
    }[command]

    def take(reader: SlippiReader, buffer: bytes, at: int, past: int, end: int) -> None:
        put(decode(buffer, at), end)

    return take
