"""The reader of the live path, of `dump`, of `verify` and of every resume from a cursor: bytes of a `.slp` to events.

It takes the file from its first byte on, split anywhere, and returns each event as soon as it is certain. Its stages
follow the file: header, Event Payloads, events, what comes after the end of the game, metadata, the closing brace. It
keeps only the bytes of an incomplete event, and what it returns does not depend on how the bytes were split.

The events end at Game End; at the raw length when it is set; and at an undeclared command byte that begins
`U\\x08metadata`. The game writes the metadata before it writes the raw length, so the raw length usually only confirms
the end after the metadata.

A `FormatError` never leaves the reader. It becomes a `Diagnostic`, and a game that has begun ends with reason `error`.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from enum import IntEnum, auto
from typing import ClassVar, Self

import msgspec

from slpstream.formats.slippi import commands, container, message_splitter, metadata, result
from slpstream.formats.slippi.assembler import Assembler, FramesBefore
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.falls import FinalFalls, PlayerScore
from slpstream.formats.slippi.frame_decoder import FrameDecoders
from slpstream.formats.slippi.frame_layout import PLAYER_INDEX_OFFSET, unsupported
from slpstream.formats.slippi.framing import (
    EventPayloads,
    read_event_payloads,
    walk_events,
    width_of_event_payloads,
)
from slpstream.formats.slippi.game_start import (
    EXACT_CHARACTER_SINCE,
    MAJOR_SCENE_ONLINE,
    GameStartPayload,
    Settings,
)
from slpstream.formats.slippi.game_time import playable_seconds, timer_seconds, timer_start
from slpstream.formats.slippi.ledge_grabs import LedgeGrabs, have_limit
from slpstream.formats.slippi.result import LastSeen
from slpstream.formats.text import BAD_TEXT
from slpstream.model import events
from slpstream.model.errors import FieldError, FormatError, FramingError
from slpstream.model.events import Diagnostic, EndReason, Event, Frame, GameEnd, GameStart

FORMAT = "slippi"

CountLedgeGrabs = Callable[[], Mapping[int, int]]
"""Returns the ledge grabs of a game, by player index."""

TakeEvent = Callable[["SlippiReader", bytes, int, int, int], None]
"""(reader, buffer, start, end, file offset of the end): takes the event `buffer[start:end]`.

The reader is an argument and not bound, because a reader that refers to itself is freed late."""

_FRAME_BOOKEND = commands.FRAME_BOOKEND.command
_OF_CHARACTERS = (commands.PRE_FRAME.command, commands.POST_FRAME.command)
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
    """The rest of the file is unreadable and dropped; the events so far stand."""


class SlippiReader:
    """Reads one Slippi replay.

    Call `feed` with the bytes in order, `rewrite` when the header has changed, and `finish` after the last byte.
    """

    format: ClassVar[str] = FORMAT
    rewritable_bytes: ClassVar[int] = container.HEADER_BYTES

    def __init__(self) -> None:
        self.stage = Stage.HEADER
        self.failure: FormatError | None = None
        """The error that ended the log, if the bytes were wrong."""
        self.raw_length_bytes = 0
        """The raw length in the header. It is 0 while the game runs, and stays 0 in some files."""
        self.event_payloads: EventPayloads | None = None
        self.game_start: GameStartPayload | None = None
        self.gecko_list: bytes | None = None
        """The Gecko List; `None` until it is complete, and in replays without one."""
        self.events_end: int | None = None
        """File offset just past the last event; `None` while the raw array may go on."""
        self._buffer = b""
        self._base = 0
        self._needed_bytes = 0
        self._ended = False
        self._settings: Settings | None = None
        self._held_start: GameStart | None = None
        """Game Start, while the first frame has to complete the settings."""
        self._held_diagnostics: list[Event] = []
        """Those after it."""
        self._held_index = 0
        self._assembler: Assembler | None = None
        self._takes: list[TakeEvent | None] = []
        self._split = bytearray()
        self._reported: set[str] = set()
        """The faults that are reported once per game."""
        self._scan: metadata.MetadataScan | None = None
        self._length_confirmed = False
        self._diagnostics = DiagnosticLimiter()
        self._counts = [0] * 256
        self._decoders: FrameDecoders | None = None
        self._falls: FinalFalls | None = None
        """The falls of a game that takes no stocks; `None` for other games."""
        self._falls_taken = 0
        self._ledge_grabs: LedgeGrabs | None = None
        self._count_ledge_grabs: CountLedgeGrabs = dict
        self._out: list[Event] = []

    def copy(self) -> Self:
        """An independent reader in the same state, a few kilobytes large."""
        twin = copy.copy(self)
        twin._split = bytearray(self._split)
        twin._held_diagnostics = list(self._held_diagnostics)
        twin._reported = set(self._reported)
        twin._diagnostics = self._diagnostics.copy()
        twin._counts = [0] * 256
        twin._decoders = None if self._decoders is None else self._decoders.copy()
        twin._out = []
        twin._falls = None if self._falls is None else self._falls.copy()
        twin._ledge_grabs = None if self._ledge_grabs is None else self._ledge_grabs.copy()
        if self._scan is not None:
            twin._scan = self._scan.copy()
        if self._assembler is not None:
            twin._assembler = self._assembler.copy(twin._diagnostics)
            twin._assembler.out = twin._out
        twin._bind()
        return twin

    def behind_frames(
        self, offset: int, frames: FramesBefore = _NO_FRAMES, count_ledge_grabs: CountLedgeGrabs = dict
    ) -> Self:
        """A copy of a reader that has read Game Start, placed at file offset `offset` after the frames.

        For callers that find the frames in another way. `frames` are those before `offset`, and `count_ledge_grabs` is
        asked for the ledge grabs of the game, by player index, if they can decide it.
        """
        twin = self.copy()
        twin._ledge_grabs, twin._count_ledge_grabs = None, count_ledge_grabs
        twin._base = offset
        if twin._assembler is not None:
            twin._assembler.place_after(frames)
        return twin

    @property
    def closed(self) -> bool:
        """Whether no further byte can change the log."""
        if self.failure is not None:
            return True
        return self.stage is Stage.ABANDONED or (self.stage is Stage.DONE and self.raw_length_bytes > 0)

    @property
    def pending(self) -> bool:
        """Always false: `feed` returns every event that is certain."""
        return False

    def more(self, max_frames: int) -> list[Event]:
        """Always empty; see `pending`."""
        return []

    @property
    def settings(self) -> Settings | None:
        """The settings; `None` before Game Start."""
        return self._settings

    def take_command_counts(self) -> dict[str, int]:
        """The number of events read since the last call, by command byte in the form `0x37`."""
        for command, count in self._decoders.take_counts().items() if self._decoders is not None else ():
            self._counts[command] += count
        counts, self._counts = self._counts, [0] * 256
        return {f"{command:#04x}": count for command, count in enumerate(counts) if count}

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes of the file and return the events that are certain now."""
        if self.failure is not None:
            return []
        self._buffer = buffer = self._buffer + data if self._buffer else data
        if len(buffer) < self._needed_bytes:  # a growing file often comes in pieces of a few bytes
            return []
        self._needed_bytes = 0
        return self._run(self._advance)

    def rewrite(self, header: bytes) -> list[Event]:
        """Take `header`, the new first `rewritable_bytes` of the file, and return the events that are certain now."""
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
        """End the log and return its last events: no more bytes will come. An unfinished game ends as `incomplete`."""
        if self.failure is not None:
            return []
        return self._run(self._finish)

    def _run(self, work: Callable[[], None]) -> list[Event]:
        out: list[Event] = []
        self._out = out
        self._held_index = self._falls_taken = 0
        if self._assembler is not None:
            self._assembler.out = out
        try:
            work()
        except FormatError as error:
            self._fail(error)
        if self._falls is not None:
            self._take_falls(self._falls)
        if self._ledge_grabs is not None and not self._ended:
            self._ledge_grabs.take(out)
        if self._held_start is not None:
            self._release_held(self._held_start, out)
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
        self._decoders = FrameDecoders(self.event_payloads.widths)
        self._consume(width)
        self._bind()
        self.stage = Stage.EVENTS
        return True

    def _read_events(self) -> bool:
        """Take all whole events in the buffer."""
        buffer, base, takes = self._buffer, self._base, self._takes
        widths = self.event_payloads.widths  # type: ignore[union-attr]
        limit = len(buffer)
        raw_end = self._raw_end
        if raw_end is not None:
            limit = min(limit, raw_end - base)
        counts = self._counts
        first_of_frame = None if self._decoders is None else self._decoders.first_command
        start = 0
        # The loop of `walk_events`, inline because this is the hot path, and because it steps over whole frames, too.
        try:
            while start < limit:
                command = buffer[start]
                width = widths[command]
                if width == 0:
                    break
                if command == first_of_frame:
                    frame_bytes = self._take_whole_frame(buffer, start, limit)
                    if frame_bytes:
                        start += frame_bytes
                        continue
                end = start + width
                if end > limit:
                    break
                take = takes[command]
                if take is not None:
                    take(self, buffer, start, end, base + end)
                counts[command] += 1
                start = end
                if self._ended:
                    break
        finally:
            self._consume(start)
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

    def _take_whole_frame(self, buffer: bytes, start: int, limit: int) -> int:
        """Take the frame at `start` at once and return its width in bytes; 0 when it has to be read event by event."""
        assembler, decoders = self._assembler, self._decoders
        if assembler is None or decoders is None or not assembler.between_frames:
            return 0
        frame = decoders.take(buffer, start, limit)
        if frame is None:
            return 0
        number, decoder, latest_finalized = frame
        end = start + decoder.width_bytes
        if not assembler.whole_frame(number, decoder, buffer[start:end], latest_finalized, self._base + end):
            decoders.put_back(decoder)
            return 0
        return end - start

    def _end_at_raw_length(self, raw_end: int) -> bool:
        """End the game at the raw length, when all bytes up to there are in the buffer."""
        if self._base < raw_end:
            command = self._buffer[0]
            if self.event_payloads is not None and self.event_payloads.widths[command] == 0:
                return self._end_at_marker()
            self._warn("event_crosses_raw_length", "the raw length ends in the middle of an event", self._base)
            self._consume(raw_end - self._base)
        self._end(self._base, "raw_length")
        self.stage = Stage.AFTER_END
        return True

    def _end_at_marker(self) -> bool:
        """End the game at an undeclared command byte if the metadata begins there.

        Raises `FramingError` for any other undeclared command byte.
        """
        marker = metadata.MARKER
        if not self._buffer.startswith(marker[: len(self._buffer)]):
            command = self._buffer[0]
            raise FramingError(f"undeclared command byte {command:#04x}", offset=self._base, command=command)
        if len(self._buffer) < len(marker):
            return False
        self._end(self._base, "raw_length")
        self.stage = Stage.AFTER_END
        return True

    def _read_after_end(self) -> bool:
        """Find the metadata or the closing brace; events before them are skipped with a warning."""
        if self.event_payloads is None:
            return False
        widths = self.event_payloads.widths
        base, past = self._base, 0
        for command, start, end in walk_events(self._buffer, 0, len(self._buffer), widths):
            if base + start == self._raw_end:
                break
            past = end
            kind = "duplicate_game_end" if command == commands.GAME_END.command else "event_after_end"
            self._warn(kind, f"the event {command:#04x} comes after the end of the game", base + end)
        self._consume(past)
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
            values, bad_text = metadata.decode(self._buffer[:length], offset=self._base)
        except FieldError as error:
            self._warn("bad_metadata", error.what, error.offset)
            self._abandon()
            return False
        start = self._base
        self._consume(length)
        if bad_text is not None:
            self._warn(BAD_TEXT, "a text in the metadata has bytes that are not UTF-8", start + bad_text)
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

    def _bind(self) -> None:
        """Fill the table of functions that take the events, by command byte, for the declared sizes."""
        payloads = self.event_payloads
        if payloads is None:
            return
        takes: list[TakeEvent | None] = [None] * 256
        takes[commands.GAME_START] = SlippiReader._take_game_start
        takes[commands.MESSAGE_SPLITTER] = SlippiReader._take_message_splitter
        for command, table in commands.TABLES.items():
            size = payloads.size(command)
            if size is None:
                continue
            if self._assembler is None:
                takes[command] = SlippiReader._take_before_start
            elif unsupported(command, payloads.widths, offset=0) is not None:
                takes[command] = SlippiReader._take_unsupported
            elif table.layout(size).missing:
                takes[command] = SlippiReader._take_short
            else:
                takes[command] = self._take_of(command, size)
        splitter_size = payloads.size(commands.MESSAGE_SPLITTER)
        if splitter_size is not None and splitter_size < message_splitter.MIN_SIZE_BYTES:
            takes[commands.MESSAGE_SPLITTER] = SlippiReader._take_short
        self._takes = takes

    def _take_game_start(self, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        if self.game_start is not None:
            self._warn("duplicate_game_start", "a second Game Start", end_offset)
            return
        data = buffer[start:end]
        payload = GameStartPayload(data, offset=end_offset - len(data))
        payloads = self.event_payloads
        scene = payload.major_scene
        bookend_size = payloads.size(_FRAME_BOOKEND) if payloads is not None else None
        self.game_start = payload
        self._settings = settings = payload.settings()
        if have_limit(settings):
            self._ledge_grabs = LedgeGrabs(player.player_index for player in settings.players)
        players = frozenset(player.player_index for player in settings.players)
        self._assembler = Assembler(
            self._diagnostics,
            bookends=bookend_size is not None,
            online=None if scene is None else scene == MAJOR_SCENE_ONLINE,
            finalized_field=(bookend_size or 0) >= commands.FRAME_BOOKEND.fields[1].end - 1,
            players=players,
            taken=players,
        )
        self._assembler.out = self._out
        self._falls = None if settings.takes_stocks else FinalFalls(settings)
        game_id = hashlib.sha256(data).hexdigest()[:32]
        event = GameStart(end_offset, FORMAT, game_id, settings, (FRAMES_PER_SECOND, 1))
        if payload.version < EXACT_CHARACTER_SINCE and settings.has_zelda_or_sheik():
            self._held_start, self._held_index = event, len(self._out)
        else:
            self._out.append(event)
        for what, at in payload.bad_texts():
            offset = end_offset - len(data) + at
            message = f"{what} has bytes that are no text"
            self._diagnostics.report(self._out, "warning", BAD_TEXT, message, offset, end_offset)
        if self._decoders is not None:
            self._decoders.players = players
        takes = self._takes
        self._bind()
        takes[:] = self._takes  # in place, because the loop in `_read_events` is using this list
        self._takes = takes

    def _release_held(self, start: GameStart, out: list[Event]) -> None:
        """Put Game Start and the diagnostics after it into `out` once the event that completes Game Start is known."""
        later = [*self._held_diagnostics, *out[self._held_index :]]
        following = next((event for event in later if type(event) is not Diagnostic), None)
        if following is None:
            self._held_diagnostics, out[self._held_index :] = later, []
            return
        out[self._held_index :] = [self._start_as_played(start, following), *later]
        self._held_start, self._held_diagnostics = None, []

    def _start_as_played(self, event: GameStart, following: Event) -> GameStart:
        """A Game Start with the characters of the first frame, if that is the event after it."""
        if type(following) is not Frame or following.number - timer_start(following.number) != commands.FIRST_FRAME:
            return event
        posts = {index: p.post for index, p in following.entry.players.items() if p.post}
        internal_ids = {index: post.internal_character_id for index, post in posts.items()}
        self._settings = event.settings.as_played(internal_ids)
        return msgspec.structs.replace(event, settings=self._settings)

    def _take_before_start(self, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        command = buffer[start]
        offset = end_offset - (end - start)
        raise FramingError(f"the event {command:#04x} comes before Game Start", offset=offset, command=command)

    def _take_unsupported(self, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        widths = self.event_payloads.widths  # type: ignore[union-attr]
        error = unsupported(buffer[start], widths, offset=end_offset - (end - start))
        if error is not None:
            raise error

    def _take_short(self, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        """Take the first event whose declared size lacks fields that every version has, and report it."""
        command, size = buffer[start], end - start - 1
        take = self._takes[command] = self._take_of(command, size)
        table = commands.TABLES.get(command)
        title, lack = "Message Splitter", "is too small"
        if table is not None:
            title, lack = table.title, f"lacks {', '.join(table.layout(size).missing)}"
        effect = "" if take is not None else "; these events are left out"
        what = f"{title}: the declared size of {size} bytes {lack}{effect}"
        self._warn_once(title, "short_event", what, end_offset - (end - start), end_offset)
        if take is not None:
            take(self, buffer, start, end, end_offset)

    def _take_of(self, command: int, size_bytes: int) -> TakeEvent | None:
        """The function that takes the events of a command; `None` for one whose events have no effect."""
        if command == commands.GAME_END.command:
            return SlippiReader._take_game_end
        table = commands.TABLES.get(command)
        if self._assembler is None or table is None or table.layout(size_bytes).too_small:
            return None
        take = _frame_take(self._assembler, command, size_bytes)
        if command not in _OF_CHARACTERS or self._settings is None:
            return take
        players = {player.player_index for player in self._settings.players}

        def take_character(reader: SlippiReader, buffer: bytes, start: int, end: int, end_offset: int) -> None:
            index = buffer[start + PLAYER_INDEX_OFFSET]
            if players and index not in players:
                what = f"player index {index} is not in Game Start; updates of such players are left out"
                reader._warn_once("players", "unsupported", what, end_offset - (end - start), end_offset)
            take(reader, buffer, start, end, end_offset)

        return take_character

    def _take_message_splitter(self, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        """Message Splitter 0x10, since 3.3.0: a block of an event that is too large for one, the Gecko List."""
        part = message_splitter.block(buffer, start, end)
        if part is None:
            return
        self._split += part[0]
        if len(self._split) > message_splitter.MAX_BYTES:
            self._warn("gecko_list_too_long", "the Gecko List is longer than 1 MiB", end_offset)
            self._split.clear()
        if part[1]:
            self.gecko_list = bytes(self._split)
            self._split.clear()

    def _take_game_end(self, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        layout = commands.GAME_END.layout(end - start - 1)
        payload = None if layout.too_small else result.game_end_payload(layout.decode(buffer, start))
        self._end(end_offset, "game_end", payload)

    def _end(self, end_offset: int, reason: EndReason, payload: result.GameEndPayload | None = None) -> None:
        """End the game: complete frames become final, then `GameEnd` follows."""
        self._ended = True
        assembler, settings = self._assembler, self._settings
        if assembler is None or settings is None:
            raise FramingError("the events end before Game Start", offset=end_offset)
        assembler.finish(end_offset, clean=reason != "error")
        last = assembler.last
        number = None if last is None else last.number
        players = {} if last is None else last.entry.players
        posts = {index: p.post for index, p in players.items() if p.post}
        ledge_grabs = self._ledge_grabs
        if ledge_grabs is not None:
            ledge_grabs.take(self._out)
        counts = self._count_ledge_grabs if ledge_grabs is None else lambda: ledge_grabs.counts
        scores: list[PlayerScore] = []
        if self._falls is not None:
            self._take_falls(self._falls)
            scores = self._falls.counter.scores()
        starts_at = timer_start(assembler.first)
        timed = number if assembler.tells_time else None
        last_seen = LastSeen(posts, {index: post for index, post in assembler.gone.items() if index not in players})
        tied = result.is_tied(settings, payload, scores, None if timed is None else timer_seconds(timed, starts_at))
        winners = [] if tied else result.winners(settings, payload, last_seen, counts, scores)
        values = result.score_values(scores, tied=tied)
        if reason == "raw_length" or (reason == "game_end" and payload is None):
            # The game has closed the file, so Game End was lost, or it does not say how the game ended.
            cut = len(posts) < len(players)
            winners = [] if cut else result.inferred_winners(settings, last_seen)
            values |= {"basis": result.INFERRED} if winners else {}
        self._out.append(
            GameEnd(
                end_offset,
                reason,
                payload,
                winners,
                number,
                None if timed is None else playable_seconds(timed, starts_at),
                values,
                standings=result.standings(settings, payload, last_seen),
            )
        )

    def _take_falls(self, falls: FinalFalls) -> None:
        """Count the falls in the frames that became final since the last call."""
        falls.take(self._out[self._falls_taken :])
        self._falls_taken = len(self._out)

    @property
    def _raw_end(self) -> int | None:
        return container.HEADER_BYTES + self.raw_length_bytes if self.raw_length_bytes else None

    def _consume(self, count: int) -> None:
        if count:
            self._buffer = self._buffer[count:]
            self._base += count

    def _confirm_length(self) -> None:
        """Once the file is closed, compare the raw length in the header with the end of the events."""
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
        self.failure = error.with_traceback(None)  # a traceback would keep this reader alive
        self._diagnostics.report(self._out, "error", error.code, error.what, error.offset, self._base)
        if self._settings is not None and not self._ended:
            self._end(self._base, "error")
        self._buffer = b""

    def _warn_once(self, about: str, code: str, message: str, offset: int, end_offset: int) -> None:
        """Report the first of the events with the same fault. It begins at `offset`."""
        if about not in self._reported:
            self._reported.add(about)
            self._diagnostics.report(self._out, "warning", code, message, offset, end_offset)

    def _warn(self, code: str, message: str, offset: int) -> None:
        self._diagnostics.report(self._out, "warning", code, message, offset, self._base)


def _frame_take(assembler: Assembler, command: int, size_bytes: int) -> TakeEvent:
    """The function that decodes the events of a command and adds them to the open frame."""
    decode = commands.TABLES[command].layout(size_bytes).decode
    if command in commands.STAGE_EVENT_KINDS:
        return lambda reader, buffer, start, end, end_offset: assembler.stage_event(
            decode(buffer, start), end_offset, command
        )
    add = {
        commands.PRE_FRAME.command: assembler.pre_frame,
        commands.POST_FRAME.command: assembler.post_frame,
        commands.FRAME_START.command: assembler.frame_start,
        commands.ITEM_UPDATE.command: assembler.item,
        commands.FRAME_BOOKEND.command: assembler.bookend,
    }[command]

    def take(reader: SlippiReader, buffer: bytes, start: int, end: int, end_offset: int) -> None:
        add(decode(buffer, start), end_offset)

    return take
