"""The events of one game, from Game Start to Game End. They are decoded one by one, or whole frames of them.

The reader walks through the raw array and passes each event to this module. The size of each command is declared by
Event Payloads. So there's one function for each command, which is chosen when the sizes are known, and again at Game
Start.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable
from typing import Self

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi import commands, message_splitter
from slpstream.formats.slippi.assembler import Assembler, FramesBefore
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.frame_events import PLAYER_INDEX_OFFSET, unsupported
from slpstream.formats.slippi.framing import EventPayloads
from slpstream.formats.slippi.game_start import (
    EXACT_CHARACTER_SINCE,
    MAJOR_SCENE_ONLINE,
    GameStartPayload,
    Settings,
)
from slpstream.formats.slippi.game_time import timer_start
from slpstream.formats.slippi.packed_frame import whole_frames
from slpstream.formats.slippi.result import CountLedgeGrabs, GameEndPayload, Outcome
from slpstream.formats.text import BAD_TEXT
from slpstream.model.errors import FramingError
from slpstream.model.events import Diagnostic, EndReason, Event, Frame, GameStart

FORMAT = "slippi"

TakeEvent = Callable[["GameEvents", bytes, int, int, int, list[Event]], None]
"""(game, buffer, start, end, file offset of the end, out): takes the event `buffer[start:end]` and appends to `out`.

The game is an argument and not bound, because objects that refer to themselves are freed late."""

_FRAME_BOOKEND = commands.FRAME_BOOKEND.command
_OF_CHARACTERS = (commands.PRE_FRAME.command, commands.POST_FRAME.command)


class GameEvents:
    """Decodes the events of one game.

    For each command byte, you find the function to call in `takes`. The events that result from it are appended to
    `out`.
    """

    def __init__(self, payloads: EventPayloads, diagnostics: DiagnosticLimiter) -> None:
        self.payloads = payloads
        self.game_start: GameStartPayload | None = None
        self.settings: Settings | None = None
        """The settings, or `None` before Game Start."""
        self.gecko_list: bytes | None = None
        """The Gecko List, or `None` until it is complete, and in replays without one."""
        self.ended = False
        self.takes: list[TakeEvent | None] = []
        self.counts = [0] * 256
        """The number of events that were taken one by one, by command byte."""
        self._whole_frames = whole_frames(tuple(payloads.widths))
        self.first_command = self._whole_frames.first_command
        """The command byte at which whole frames begin."""
        self._diagnostics = diagnostics
        self.assembler: Assembler | None = None
        """Assembles the frames, after Game Start."""
        self._outcome: Outcome | None = None
        self._held: _HeldStart | None = None
        self.settled_through = -math.inf
        """The highest frame number that was final in the last call of `settle`."""
        self.is_watching = True
        """Whether `settle` needs all events. Otherwise, you can leave it out for frames in order, as long as
        `settled_through` is higher than the last frame that the assembler has noted."""
        self._split = bytearray()
        self._reported: set[str] = set()
        """The faults that are reported once per game."""
        self._bind()

    def copy(self, diagnostics: DiagnosticLimiter) -> Self:
        """Return a copy. It has the same state except for the counts, but is independent from then on."""
        twin = copy.copy(self)
        twin._diagnostics = diagnostics
        twin.counts = [0] * 256
        twin.assembler = None if self.assembler is None else self.assembler.copy(diagnostics)
        twin._outcome = None if self._outcome is None else self._outcome.copy()
        twin._held = None if self._held is None else self._held.copy()
        twin._split = bytearray(self._split)
        twin._reported = set(self._reported)
        twin.takes = []
        twin._bind()
        return twin

    def place_after(self, frames: FramesBefore, count_ledge_grabs: CountLedgeGrabs) -> None:
        """Continue after frames that were found in another way (see `SlippiReader.resumed_after_frames`)."""
        if self.assembler is not None:
            self.assembler.place_after(frames)
        if self._outcome is not None:
            self._outcome.count_ledge_grabs_with(count_ledge_grabs)

    def take_counts(self) -> dict[int, int]:
        """Return how many events were taken since the last time you called this, by command byte."""
        counts, self.counts = self.counts, [0] * 256
        if self.assembler is not None:
            for command, count in self.assembler.take_counts().items():
                counts[command] += count
        return {command: count for command, count in enumerate(counts) if count}

    def end(self, end_offset: int, reason: EndReason, payload: GameEndPayload | None, out: list[Event]) -> None:
        """End the game. This means that all complete frames become final, and then `GameEnd` follows."""
        self.ended = True
        assembler, outcome = self.assembler, self._outcome
        if assembler is None or outcome is None:
            raise FramingError("the events end before Game Start", offset=end_offset)
        assembler.finish(end_offset, out, clean=reason != "error")
        outcome.take(out)
        out.append(outcome.game_end(assembler.numbers, assembler.last, reason, payload, end_offset))

    def settle(self, out: list[Event]) -> None:
        """Look at the events of one call of the reader.

        If Game Start was held back and they complete it, release it.
        """
        outcome, assembler = self._outcome, self.assembler
        if outcome is not None and assembler is not None and not self.ended:
            # The frame after a noted one shows whether its action goes on.
            if outcome.needs_all_frames or assembler.noted >= self.settled_through:
                outcome.take(out)
            if assembler.finality.through is not None:
                self.settled_through = assembler.finality.through
        if self._held is not None:
            start = self._held.release(out)
            if start is not None:
                self.settings, self._held = start.settings, None
        self.is_watching = self._held is not None or outcome is None or outcome.needs_all_frames

    def _bind(self) -> None:
        """Fill `takes` for the declared sizes.

        We have to do this in place, because the loop of the reader is using the list.
        """
        payloads = self.payloads
        takes: list[TakeEvent | None] = [None] * 256
        takes[commands.GAME_START] = GameEvents._take_game_start
        takes[commands.MESSAGE_SPLITTER] = GameEvents._take_message_splitter
        for command, table in commands.TABLES.items():
            size = payloads.size(command)
            if size is None:
                continue
            if self.assembler is None:
                takes[command] = GameEvents._take_before_start
            elif unsupported(command, payloads.widths, offset=0) is not None:
                takes[command] = GameEvents._take_unsupported
            elif table.layout(size).missing:
                takes[command] = GameEvents._take_short
            else:
                takes[command] = self._take_of(command, size)
        splitter_size = payloads.size(commands.MESSAGE_SPLITTER)
        if splitter_size is not None and splitter_size < message_splitter.MIN_SIZE_BYTES:
            takes[commands.MESSAGE_SPLITTER] = GameEvents._take_short
        self.takes[:] = takes

    def _take_game_start(self, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        """Take a Game Start (0x36), which comes once per game and contains the settings and players."""
        if self.game_start is not None:
            self._warn("duplicate_game_start", "a second Game Start", end_offset, out)
            return
        data = buffer[start:end]
        payload = GameStartPayload(data, offset=end_offset - len(data))
        bookend_size = self.payloads.size(_FRAME_BOOKEND)
        self.game_start = payload
        self.settings = settings = payload.settings()
        players = frozenset(player.player_index for player in settings.players)
        self.assembler = Assembler(
            self._diagnostics,
            bookends=bookend_size is not None,
            online=None if settings.game_mode is UNSET else settings.game_mode == MAJOR_SCENE_ONLINE,
            finalized_field=(bookend_size or 0) >= commands.FRAME_BOOKEND.fields[1].end - 1,
            players=players,
            taken=players,
            whole_frames=self._whole_frames,
        )
        self._outcome = Outcome(settings)
        game_id = hashlib.sha256(data).hexdigest()[:32]
        event = GameStart(end_offset, FORMAT, game_id, settings, (FRAMES_PER_SECOND, 1))
        if payload.version < EXACT_CHARACTER_SINCE and settings.has_zelda_or_sheik():
            self._held = _HeldStart(event, len(out))
        else:
            out.append(event)
        for what, at in payload.bad_texts():
            offset = end_offset - len(data) + at
            message = f"{what} has bytes that are no text"
            self._diagnostics.report(out, "warning", BAD_TEXT, message, offset, end_offset)
        self._bind()

    def _take_before_start(self, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        command = buffer[start]
        offset = end_offset - (end - start)
        raise FramingError(f"the event {command:#04x} comes before Game Start", offset=offset, command=command)

    def _take_unsupported(self, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        error = unsupported(buffer[start], self.payloads.widths, offset=end_offset - (end - start))
        if error is not None:
            raise error

    def _take_short(self, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        """Take the first event whose declared size lacks some fields that every version should have, and report
        this.
        """
        command, size = buffer[start], end - start - 1
        take = self.takes[command] = self._take_of(command, size)
        table = commands.TABLES.get(command)
        title, lack = "Message Splitter", "is too small"
        if table is not None:
            title, lack = table.title, f"lacks {', '.join(table.layout(size).missing)}"
        effect = "" if take is not None else "; these events are left out"
        message = f"{title}: the declared size of {size} bytes {lack}{effect}"
        self._warn_once(title, "short_event", message, end_offset - (end - start), end_offset, out)
        if take is not None:
            take(self, buffer, start, end, end_offset, out)

    def _take_of(self, command: int, size_bytes: int) -> TakeEvent | None:
        """Return the function that takes the events of the given command, or `None` if these events don't have any
        effect.
        """
        if command == commands.GAME_END.command:
            return GameEvents._take_game_end
        table = commands.TABLES.get(command)
        if self.assembler is None or table is None or table.layout(size_bytes).too_small:
            return None
        take = _frame_take(self.assembler, command, size_bytes)
        if command not in _OF_CHARACTERS or self.settings is None:
            return take
        players = {player.player_index for player in self.settings.players}

        def take_character(
            game: GameEvents, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]
        ) -> None:
            index = buffer[start + PLAYER_INDEX_OFFSET]
            if players and index not in players:
                message = f"player index {index} is not in Game Start; updates of such players are left out"
                game._warn_once("players", "unsupported", message, end_offset - (end - start), end_offset, out)
            take(game, buffer, start, end, end_offset, out)

        return take_character

    def _take_message_splitter(self, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        """Take a Message Splitter (0x10, since 3.3.0).

        It is a block of the Gecko List, which is too large for a single event.
        """
        part = message_splitter.block(buffer, start, end)
        if part is None:
            return
        self._split += part[0]
        if len(self._split) > message_splitter.MAX_BYTES:
            self._warn("gecko_list_too_long", "the Gecko List is longer than 1 MiB", end_offset, out)
            self._split.clear()
        if part[1]:
            self.gecko_list = bytes(self._split)
            self._split.clear()

    def _take_game_end(self, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        """Take a Game End (0x39), which comes once per game and tells us how it ended."""
        layout = commands.GAME_END.layout(end - start - 1)
        payload = None if layout.too_small else GameEndPayload.of(layout.decode(buffer, start))
        self.end(end_offset, "game_end", payload, out)

    def _warn_once(self, about: str, code: str, message: str, offset: int, end_offset: int, out: list[Event]) -> None:
        """Report a fault that begins at `offset`.

        If there are more events with the same fault, they aren't reported.
        """
        if about not in self._reported:
            self._reported.add(about)
            self._diagnostics.report(out, "warning", code, message, offset, end_offset)

    def _warn(self, code: str, message: str, end_offset: int, out: list[Event]) -> None:
        self._diagnostics.report(out, "warning", code, message, end_offset, end_offset)


class _HeldStart:
    """A Game Start that has to wait, because its settings are only complete with the first frame.

    It also keeps the diagnostics that come after it until then.
    """

    def __init__(self, start: GameStart, index: int) -> None:
        """`index` is its place among the events of the current call of the reader."""
        self._start = start
        self._index = index
        self._diagnostics: list[Event] = []

    def copy(self) -> Self:
        """An independent copy."""
        twin = copy.copy(self)
        twin._diagnostics = list(self._diagnostics)
        return twin

    def release(self, out: list[Event]) -> GameStart | None:
        """If `out` contains the event that completes Game Start, put it and the diagnostics into `out`, and return it.

        Otherwise, take the diagnostics out of `out`.
        """
        later = [*self._diagnostics, *out[self._index :]]
        following = next((event for event in later if type(event) is not Diagnostic), None)
        if following is None:
            self._diagnostics, out[self._index :] = later, []
            self._index = 0
            return None
        start = _start_as_played(self._start, following)
        out[self._index :] = [start, *later]
        return start


def _start_as_played(event: GameStart, following: Event) -> GameStart:
    """Return a Game Start with the characters of the first frame, if the event after it is this frame."""
    if type(following) is not Frame or following.number - timer_start(following.number) != commands.FIRST_FRAME:
        return event
    posts = {index: p.post for index, p in following.entry.players.items() if p.post}
    internal_ids = {index: post.internal_character_id for index, post in posts.items()}
    return msgspec.structs.replace(event, settings=event.settings.as_played(internal_ids))


def _frame_take(assembler: Assembler, command: int, size_bytes: int) -> TakeEvent:
    """Return a function that decodes the events of the given command and adds them to the open frame."""
    decode = commands.TABLES[command].layout(size_bytes).decode
    if command in commands.STAGE_EVENT_KINDS:
        return lambda game, buffer, start, end, end_offset, out: assembler.stage_event(
            decode(buffer, start), end_offset, out, command
        )
    add = {
        commands.PRE_FRAME.command: assembler.pre_frame,
        commands.POST_FRAME.command: assembler.post_frame,
        commands.FRAME_START.command: assembler.frame_start,
        commands.ITEM_UPDATE.command: assembler.item,
        commands.FRAME_BOOKEND.command: assembler.bookend,
    }[command]

    def take(game: GameEvents, buffer: bytes, start: int, end: int, end_offset: int, out: list[Event]) -> None:
        add(decode(buffer, start), end_offset, out)

    return take
