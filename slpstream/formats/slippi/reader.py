r"""The reader of `.slp` files, which turns bytes into events.

You pass it the file from its first byte on, in pieces of any size, and it returns each event as soon as it is certain.
It doesn't keep any bytes except for those of an incomplete event, and you get the same events no matter how the bytes
were split.

The events end at Game End, or at the raw length when it is set, or at an undeclared command byte that begins
`U\x08metadata`. Since the game writes the metadata before the raw length, the raw length is usually just a confirmation
that comes later.

The reader never raises a `FormatError`. Instead, you get a `Diagnostic`, and if a game has begun, it ends with the
reason `error`.
"""

from __future__ import annotations

import copy
import hashlib
import math
import sys
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, Self

import msgspec

from slpstream.formats.slippi import commands, container, metadata
from slpstream.formats.slippi.assembler import Assembler, FramesBefore
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.frame_events import POST, PRE, START, unsupported
from slpstream.formats.slippi.framing import EventPayloads, event_payloads_at, event_payloads_of, walk_events
from slpstream.formats.slippi.game_start import EXACT_CHARACTER_SINCE, MAJOR_SCENE_ONLINE, GameStartPayload, Settings
from slpstream.formats.slippi.game_time import timer_start
from slpstream.formats.slippi.result import GameEndPayload, Outcome
from slpstream.formats.text import BAD_TEXT
from slpstream.model.errors import FieldError, FormatError, FramingError
from slpstream.model.events import Diagnostic, EndReason, Event, Frame, GameStart, Metadata
from slpstream.model.fields import Layout

_NO_FRAMES = FramesBefore()
_UPDATES = (PRE, POST)
_USED, _INNER_COMMAND, _LAST = 0x201, 0x203, 0x204
"""Offsets in Message Splitter: the bytes used of its block of 512, as u16; the inner command; 1 in the last part."""
_MAX_GECKO_LIST_BYTES = 1 << 20
"""The longest known one has 70,496 bytes."""


Stage = Literal["header", "event payloads", "events", "after end", "metadata", "close", "done", "abandoned"]
"""Where in the file a reader is. If it's `abandoned`, the rest of the file is unreadable, but earlier events stand."""


class SlippiReader:
    """Reads one Slippi replay.

    Call `feed` with the bytes in order. If the header has changed, call `rewrite`, and after the last byte, call
    `finish`.
    """

    pending = False
    """This is always false, because `feed` returns every event that is certain."""

    def __init__(self) -> None:
        self.stage: Stage = "header"
        self.failure: FormatError | None = None
        """The error that ended the log, if the bytes were wrong."""
        self.raw_length_bytes = 0
        """The raw length in the header. It is 0 while the game runs, and stays 0 in some files."""
        self.event_payloads: EventPayloads | None = None
        """The declared sizes of events. Before the end of Event Payloads, this is `None`."""
        self.game_start: GameStartPayload | None = None
        """The bytes of Game Start, or `None` if we haven't got there yet."""
        self.settings: Settings | None = None
        """The settings; `None` before Game Start."""
        self.gecko_list: bytes | None = None
        """The Gecko List, or `None` if it isn't complete yet or the replay doesn't have one."""
        self._widths: tuple[int, ...] = ()
        """The declared widths of events by command byte, after Event Payloads."""
        self._buffer = b""
        self._base = 0
        self._needed_bytes = 0
        self._diagnostics = DiagnosticLimiter()
        self._reported: set[str] = set()
        """The faults that are reported once per game."""
        self._counts = [0] * 256
        """The number of events that were taken one by one, by command byte."""
        self._layouts: dict[int, Layout] = {}
        """The layouts of events that have occurred, by command byte."""
        self._gecko_parts = bytearray()
        self._frames: Assembler | None = None
        """Assembles the frames, after Game Start."""
        self._outcome: Outcome | None = None
        self._held: list[Event] | None = None
        """Events that have to wait, beginning with a Game Start whose settings are only complete with the first frame.
        """
        self._settled_through = -math.inf
        """Events have to be settled if the assembler has noted a frame with this number or a higher one."""
        self._events_end: int | None = None
        """File offset just past the last event, or `None` while the raw array can still grow, and after we have checked
        it."""
        self._metadata = metadata.MetadataDecoder(0)

    def copy(self) -> Self:
        """Return a copy of this reader, which takes a few kilobytes, and is independent from then on."""
        twin = copy.copy(self)
        twin._diagnostics = copy.deepcopy(self._diagnostics)
        twin._reported = set(self._reported)
        twin._counts = [0] * 256
        twin._layouts = dict(self._layouts)
        twin._gecko_parts = self._gecko_parts.copy()
        twin._frames = None if self._frames is None else self._frames.copy(twin._diagnostics)
        twin._outcome = None if self._outcome is None else self._outcome.copy()
        twin._metadata = copy.deepcopy(self._metadata)
        return twin

    def resumed_after_frames(self, offset: int, frames: FramesBefore = _NO_FRAMES) -> Self:
        """Return a copy that continues after the frames, at the file offset `offset`. This reader must have read Game
        Start.

        Use this if you find the frames in another way. `frames` are those before `offset`, without their ledge grabs.
        """
        twin = self.copy()
        twin._base = offset
        if twin._frames is not None:
            twin._frames.place_after(frames)
        return twin

    @property
    def closed(self) -> bool:
        """Whether the log is complete, so that it stays the same no matter which bytes follow."""
        return self.stage == "abandoned" or (self.stage == "done" and self.raw_length_bytes > 0)

    def more(self, max_frames: int) -> list[Event]:
        """Always empty, because nothing is ever `pending`."""
        return []

    def take_command_counts(self) -> dict[str, int]:
        """Return how many events were read since the last call, by command byte in the form `0x37`."""
        counts, self._counts = self._counts, [0] * 256
        if self._frames is not None:
            for command, count in self._frames.take_counts().items():
                counts[command] += count
        return {f"{command:#04x}": count for command, count in enumerate(counts) if count}

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes of the file, and return those events that are certain now."""
        if self.stage == "abandoned":
            return []
        self._buffer = buffer = self._buffer + data if self._buffer else data
        if self._needed_bytes:  # a growing file often comes in pieces of a few bytes
            if len(buffer) < self._needed_bytes:
                return []
            self._needed_bytes = 0
        out: list[Event] = []
        frames = self._frames
        if frames is not None and self.stage == "events" and not self.raw_length_bytes:
            # The usual case, sixty times a second: the bytes are whole frames, and nothing else.
            end = frames.take_in_order(buffer, 0, sys.maxsize, self._base, out)
            self._buffer = buffer[end:]
            self._base += end
            if not self._buffer:
                if frames.noted >= self._settled_through:
                    self._settle(out)
                return out
        return self._run(self._advance, out)

    def rewrite(self, header: bytes) -> list[Event]:
        """Take the first 15 bytes of the file again, because they have changed.

        Returns those events that are certain now.
        """
        if self.stage in ("abandoned", "header"):
            return []

        def advance(out: list[Event]) -> None:
            self._take_cut_frame(out)
            container.check_magic(header)
            self.raw_length_bytes = container.raw_length(header)
            self._needed_bytes = 0
            self._advance(out)

        return self._run(advance, [])

    def finish(self) -> list[Event]:
        """End the log, because there won't be any more bytes, and return its last events.

        If the game isn't finished, it ends as `incomplete`.
        """
        return [] if self.stage == "abandoned" else self._run(self._finish, [])

    def _run(self, work: Callable[[list[Event]], None], out: list[Event]) -> list[Event]:
        """Add events to `out` by doing some work, and return it. If the bytes are wrong, they end the log."""
        try:
            work(out)
        except FormatError as error:
            self.failure = error.with_traceback(None)  # a traceback would keep this reader alive
            self._diagnostics.report(out, error.code, error.what, error.offset, self._base, "error")
            if self.settings is not None and self.stage == "events":
                self._end(self._base, "error", None, out)
            self._drop_rest(out)
        self._settle(out)
        return out

    def _settle(self, out: list[Event]) -> None:
        """Look at the events of one call."""
        frames, outcome = self._frames, self._outcome
        if frames is None or outcome is None:
            return
        if self.stage == "events" and frames.noted >= self._settled_through:
            outcome.take(out)
        if self._held is not None:
            self._hold(out)
        # The frame after a noted one shows whether its action goes on.
        if self._held is not None or outcome.needs_all_frames or frames.through is None:
            self._settled_through = -math.inf
        else:
            self._settled_through = frames.through

    def _hold(self, out: list[Event]) -> None:
        """Hold back Game Start, and the diagnostics after it, until another event completes its settings."""
        self._held = held = [*(self._held or ()), *out]
        out.clear()
        match [event for event in held if not isinstance(event, Diagnostic)]:
            case [GameStart() as start, following, *_]:
                played = _start_as_played(start, following)
                self.settings, self._held = played.settings, None
                out += [played if event is start else event for event in held]

    def _advance(self, out: list[Event]) -> None:
        while self._STEPS[self.stage](self, out):
            pass

    def _take_cut_frame(self, out: list[Event]) -> None:
        """Take the events of a frame for whose rest we have waited."""
        if self.stage == "events" and self._read_events(out, waits_for_frames=False):
            self._advance(out)

    def _read_header(self, out: list[Event]) -> bool:
        container.check_magic(self._buffer)
        if len(self._buffer) < container.HEADER_BYTES:
            return False
        self.raw_length_bytes = container.raw_length(self._buffer)
        self._consume(container.HEADER_BYTES)
        self.stage = "event payloads"
        return True

    def _read_event_payloads(self, out: list[Event]) -> bool:
        found = event_payloads_at(self._buffer, 0, self._base)
        if found is None:
            return False
        self.event_payloads, end = found
        self._widths = self.event_payloads.widths
        self._consume(end)
        self.stage = "events"
        return True

    def _read_events(self, out: list[Event], *, waits_for_frames: bool = True) -> bool:
        """Take all whole events in the buffer.

        If `waits_for_frames`, wait for the rest of a frame that is cut off, instead of taking its events one by one.
        """
        buffer, base, raw_end, widths = self._buffer, self._base, self._raw_end, self._widths
        limit = min(len(buffer), raw_end - base)
        first_of_frame = START if widths[START] else PRE
        start, counts = 0, self._counts
        # The loop of `walk_events`, inline because it steps over whole frames, too.
        try:
            while start < limit and self.stage == "events":
                command = buffer[start]
                width = widths[command]
                if width == 0:
                    break
                if command == first_of_frame and self._frames is not None:
                    end, needed_end = self._frames.take_whole_frames(buffer, start, limit, base, out)
                    if end > start:
                        start = end
                        continue
                    if needed_end and waits_for_frames and base + len(buffer) < raw_end:
                        self._needed_bytes = min(needed_end, raw_end - base) - start
                        return False
                end = start + width
                if end > limit:
                    break
                layout = self._layouts.get(command) or self._take_first(buffer[start:end], base + end, out)
                if layout is not None and self._frames is not None:
                    event = layout.decode(buffer, start)
                    if command in _UPDATES and event.player_index not in self._frames.players:
                        self._warn_of_stranger(event.player_index, base + start, base + end, out)
                    self._frames.take(command, event, base + end, out)
                counts[command] += 1
                start = end
        finally:
            self._consume(start)
        return self.stage != "events" or self._end_of_events(out)

    def _end_of_events(self, out: list[Event]) -> bool:
        """If the events end before the rest of the buffer, end the game there.

        For an undeclared command byte at which no metadata begins, this raises `FramingError`.
        """
        widths, rest_bytes = self._widths, self._raw_end - self._base
        if rest_bytes > 0 and self._buffer and not widths[self._buffer[0]]:
            if not metadata.MARKER.startswith(self._buffer[: len(metadata.MARKER)]):
                command = self._buffer[0]
                raise FramingError(f"undeclared command byte {command:#04x}", offset=self._base, command=command)
            if len(self._buffer) < len(metadata.MARKER):
                return False
        elif len(self._buffer) < rest_bytes:
            self._needed_bytes = min(widths[self._buffer[0]], rest_bytes) if self._buffer else 0
            return False
        elif rest_bytes > 0:
            self._warn("event_crosses_raw_length", "the raw length ends in the middle of an event", self._base, out)
            self._consume(rest_bytes)
        self._end(self._base, "raw_length", None, out)
        return True

    def _take_first(self, event: bytes, end: int, out: list[Event]) -> Layout | None:
        """Take an event whose command hasn't occurred in a frame before, or never does. Returns the layout of an event
        that belongs to a frame, which isn't taken yet.

        If its declared size lacks some fields that every version should have, report this. Raises `FramingError` if it
        comes too early, and `Unsupported` if we can't read frames with such events.
        """
        command, start = event[0], end - len(event)
        if command == commands.GAME_START:
            self._take_game_start(event, end, out)
        elif command == commands.MESSAGE_SPLITTER:
            self._take_message_splitter(event, end, out)
        elif command in commands.TABLES:
            if self._frames is None:
                raise FramingError(f"the event {command:#04x} comes before Game Start", offset=start, command=command)
            error = unsupported(command, self._widths, offset=start)
            if error is not None:
                raise error
            layout = commands.TABLES[command].layout(len(event) - 1)
            is_end = command == commands.GAME_END.command
            if layout.missing:
                effect = _LEFT_OUT if layout.too_small and not is_end else ""
                self._warn_short(layout.table.title, f"lacks {', '.join(layout.missing)}{effect}", event, end, out)
            if is_end:
                payload = None if layout.too_small else GameEndPayload.of(layout.decode(event, 0))
                self._end(end, "game_end", payload, out)
            elif not layout.too_small:
                self._layouts[command] = layout
                return layout
        return None

    def _take_game_start(self, event: bytes, end: int, out: list[Event]) -> None:
        """Take a Game Start (0x36), which comes once per game and contains the settings and players."""
        if self.game_start is not None:
            self._warn("duplicate_game_start", "a second Game Start", end, out)
            return
        start = end - len(event)
        self.game_start = payload = GameStartPayload(event, offset=start)
        self.settings = settings = payload.settings()
        online = None if settings.game_mode is msgspec.UNSET else settings.game_mode == MAJOR_SCENE_ONLINE
        players = [player.player_index for player in settings.players]
        self._frames = Assembler(self._diagnostics, self._widths, players, online=online)
        self._outcome = Outcome(settings)
        game_id = hashlib.sha256(event).hexdigest()[:32]
        out.append(GameStart(end, "slippi", game_id, settings, (commands.FRAMES_PER_SECOND, 1)))
        if payload.version < EXACT_CHARACTER_SINCE and settings.has_zelda_or_sheik():
            self._held = []
        for what, at in payload.bad_texts():
            message = f"{what} has bytes that are no text"
            self._diagnostics.report(out, BAD_TEXT, message, start + at, end)

    def _take_message_splitter(self, event: bytes, end: int, out: list[Event]) -> None:
        """Take a Message Splitter (0x10, since 3.3.0), which contains a part of an event that is too large for one. Up
        to now, this is only the Gecko List.

        We ignore the declared size of the Gecko List, because it doesn't fit into 16 bits.
        """
        if len(event) <= _LAST:
            self._warn_short("Message Splitter", f"is too small{_LEFT_OUT}", event, end, out)
            return
        if event[_INNER_COMMAND] != commands.GECKO_LIST:
            return
        used_bytes = int.from_bytes(event[_USED:_INNER_COMMAND], "big")
        self._gecko_parts += event[1 : 1 + min(used_bytes, _USED - 1)]
        if len(self._gecko_parts) > _MAX_GECKO_LIST_BYTES:
            self._warn("gecko_list_too_long", "the Gecko List is longer than 1 MiB", end, out)
            self._gecko_parts.clear()
        if event[_LAST]:
            self.gecko_list = bytes(self._gecko_parts)
            self._gecko_parts.clear()

    def _end(self, end: int, reason: EndReason, payload: GameEndPayload | None, out: list[Event]) -> None:
        """End the game. This means that all complete frames become final, and then `GameEnd` follows."""
        frames, outcome = self._frames, self._outcome
        if frames is None or outcome is None:
            raise FramingError("the events end before Game Start", offset=end)
        frames.finish(end, out, clean=reason != "error")
        outcome.take(out)
        out.append(outcome.game_end(frames.frames, reason, payload, end))
        self.stage = "after end"

    def _read_after_end(self, out: list[Event]) -> bool:
        """Find the metadata or the closing brace. If there are events before that, skip them with a warning."""
        base, past = self._base, 0
        for command, start, end in walk_events(self._buffer, 0, len(self._buffer), self._widths):
            if base + start == self._raw_end:
                break
            past = end
            kind = "duplicate_game_end" if command == commands.GAME_END.command else "event_after_end"
            self._warn(kind, f"the event {command:#04x} comes after the end of the game", base + end, out)
        self._consume(past)
        if not self._buffer or (self._base != self._raw_end and self._widths[self._buffer[0]]):
            return False
        if self._buffer[:1] == container.CLOSE:
            self._events_end = self._base
            self.stage = "close"
            return True
        marker = metadata.MARKER
        if not marker.startswith(self._buffer[: len(marker)]):
            return self._abandon("garbage_after_end", "what follows the end of the game is no metadata", out)
        if len(self._buffer) < len(marker):
            return False
        self._events_end = self._base
        self._consume(len(marker))
        self._metadata = metadata.MetadataDecoder(self._base)
        self.stage = "metadata"
        return True

    def _read_metadata(self, out: list[Event]) -> bool:
        start = self._base
        try:
            decoded = self._metadata.advance(self._buffer)
        except FieldError as error:
            return self._abandon("bad_metadata", error.what, out, offset=error.offset)
        if decoded is None:
            return False
        self._consume(decoded.length_bytes)
        if decoded.bad_text is not None:
            self._warn(BAD_TEXT, "a text in the metadata has bytes that are not UTF-8", start + decoded.bad_text, out)
        out.append(Metadata(self._base, decoded.values))
        self.stage = "close"
        return True

    def _read_close(self, out: list[Event]) -> bool:
        if not self._buffer:
            return False
        if self._buffer[:1] != container.CLOSE:
            return self._abandon("not_closed", "the closing brace of the file is missing", out)
        self._consume(1)
        self.stage = "done"
        return True

    def _read_done(self, out: list[Event]) -> bool:
        """Check that the raw length in the header agrees with the end of the events, and that nothing follows."""
        if self.raw_length_bytes and self._events_end is not None:
            if self._events_end != self._raw_end:
                seen = self._events_end - container.HEADER_BYTES
                message = f"the raw length says {self.raw_length_bytes}, the events are {seen} bytes"
                self._warn("raw_length_mismatch", message, 0, out)
            self._events_end = None
        if self._buffer:
            self._abandon("trailing_bytes", "the file goes on behind its closing brace", out)
        return False

    def _abandon(self, code: str, message: str, out: list[Event], *, offset: int | None = None) -> bool:
        """Report what is wrong at a file offset, by default the next one, and ignore the rest of the file."""
        self._warn(code, message, self._base if offset is None else offset, out)
        return self._drop_rest(out)

    def _drop_rest(self, out: list[Event]) -> bool:
        self.stage, self._buffer = "abandoned", b""
        return False

    _STEPS: ClassVar[dict[Stage, Callable[[SlippiReader, list[Event]], bool]]] = {
        "header": _read_header,
        "event payloads": _read_event_payloads,
        "events": _read_events,
        "after end": _read_after_end,
        "metadata": _read_metadata,
        "close": _read_close,
        "done": _read_done,
        "abandoned": _drop_rest,
    }
    """What to do with the bytes at each stage. Returns whether there's more to do without further bytes."""

    def _finish(self, out: list[Event]) -> None:
        self._take_cut_frame(out)
        end = self._base + len(self._buffer)
        if self.settings is None:
            raise FramingError("the file ends before Game Start", offset=end)
        if self.stage == "events":
            if self._buffer:
                self._warn("truncated", "the file ends in the middle of an event", self._base, out)
            self._end(self._base, "incomplete", None, out)
        elif self.stage == "metadata":
            self._warn("truncated", "the file ends in the metadata", end, out)
        self.stage = "done"
        self._needed_bytes = 0

    @property
    def _raw_end(self) -> int:
        """The end of the events according to the raw length, or beyond any file if it isn't set."""
        return container.HEADER_BYTES + self.raw_length_bytes if self.raw_length_bytes else sys.maxsize

    def _consume(self, count: int) -> None:
        if count:
            self._buffer = self._buffer[count:]
            self._base += count

    def _warn_short(self, title: str, lack: str, event: bytes, end: int, out: list[Event]) -> None:
        message = f"{title}: the declared size of {len(event) - 1} bytes {lack}"
        self._warn_once(title, "short_event", message, end - len(event), end, out)

    def _warn_of_stranger(self, index: int, start: int, end: int, out: list[Event]) -> None:
        """Report the updates of a player who isn't in Game Start, unless Game Start has no players."""
        if self._frames is not None and self._frames.players:
            message = f"player index {index} is not in Game Start; updates of such players are left out"
            self._warn_once("players", "unsupported", message, start, end, out)

    def _warn_once(self, about: str, code: str, message: str, offset: int, end: int, out: list[Event]) -> None:
        """Report a fault of an event. If there are more events with the same fault, they aren't reported."""
        if about not in self._reported:
            self._reported.add(about)
            self._diagnostics.report(out, code, message, offset, end)

    def _warn(self, code: str, message: str, offset: int, out: list[Event]) -> None:
        self._diagnostics.report(out, code, message, offset, self._base)


_LEFT_OUT = "; these events are left out"


def _start_as_played(start: GameStart, following: Event) -> GameStart:
    """Return a Game Start with the characters of the first frame, if the event after it is this frame."""
    if type(following) is not Frame or following.number - timer_start(following.number) != commands.FIRST_FRAME:
        return start
    posts = {index: p.post for index, p in following.entry.players.items() if p.post}
    internal_ids = {index: post.internal_character_id for index, post in posts.items()}
    return msgspec.structs.replace(start, settings=start.settings.as_played(internal_ids))


class Head(NamedTuple):
    """A reader that has read everything up to the end of Game Start, what it has found, the position after Game Start,
    and the events.
    """

    reader: SlippiReader
    payloads: EventPayloads
    game_start: GameStartPayload
    at: int
    events: list[Event]


def read_head(data: bytes) -> Head:
    """Read a replay up to Game Start. The rest of the file may be missing. Raises `FormatError` without Game Start."""
    container.check_magic(data)
    reader, at = SlippiReader(), len(data)
    found = event_payloads_of(data)
    if found is not None:
        payloads, start = found
        walk = walk_events(data, start, at, payloads.widths)
        at = next((end for command, _, end in walk if command == commands.GAME_START), at)
    events = reader.feed(data[:at])
    if reader.failure is not None or reader.event_payloads is None or reader.game_start is None:
        raise reader.failure or FramingError("the file ends before Game Start", offset=len(data))
    return Head(reader, reader.event_payloads, reader.game_start, at, events)
