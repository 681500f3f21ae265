"""The assembler, which decides which events form a frame, and when this frame is complete.

Usually, a frame is complete at its Frame Bookend. There are no bookends before 3.0, so in this case it is complete when
all characters have their Post-Frame Update (`frame_index`), or else when the next frame begins or the game ends. On
netplay, a rollback sends a frame number again. Each *sending* has a `revision` that is one higher than the last one. It
also starts empty, so you never get items or stage events twice. `finality` decides when a complete frame is final.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.finality import MAX_LAG_FRAMES, Finality, FinalityRule
from slpstream.formats.slippi.frame_entry import FrameEntry, PlayerFrame, stage_event
from slpstream.formats.slippi.frame_numbers import FrameNumbers
from slpstream.formats.slippi.last_frame import LastFrame
from slpstream.formats.slippi.packed_frame import (
    CHARACTERS,
    JSON_BYTES_PER_BYTE,
    FrameParts,
    PackedFrame,
    WholeFrames,
    followers_in,
    players_in,
)
from slpstream.model.events import Event, Frame


class FramesBefore(NamedTuple):
    """The frames of a game up to some position.

    An assembler can continue from there, even though it hasn't seen them.
    """

    first: int | None = None
    """The number of the first frame."""
    last: Frame | None = None
    """The latest sending of the highest frame number."""
    gone: Mapping[int, Any] = MappingProxyType({})
    """The last Post-Frame Updates of players that the last frame lacks, by player index."""
    repeated: bool = False
    """Whether all have the number of the first, repeated `MAX_REPEATS` times or more (`frame_numbers`)."""


class OpenFrame:
    """A sending of a frame that we are still reading, event by event."""

    __slots__ = ("followers", "items", "number", "players", "stage_events", "start", "without_post")

    def __init__(self, number: int) -> None:
        self.number = number
        self.start: Any = UNSET
        self.players: dict[int, PlayerFrame] = {}
        self.followers: dict[int, PlayerFrame] = {}
        self.items: list[Any] = []
        self.stage_events: list[Any] = []
        self.without_post = 0
        """The number of characters without a Post-Frame Update."""

    def copy(self) -> Self:
        """Return a copy that is independent from now on."""
        twin = copy.copy(self)
        twin.players = {index: copy.copy(player) for index, player in self.players.items()}
        twin.followers = {index: copy.copy(player) for index, player in self.followers.items()}
        twin.items = list(self.items)
        twin.stage_events = list(self.stage_events)
        return twin


class Assembler:
    """Assembles decoded events into frames.

    There's a method for each kind of event, and you have to call them in the order of the file. `end` is the offset in
    the file just after the event. The `Frame`, `FrameFinalized` and `Diagnostic` events that result from it are
    appended to `out`.
    """

    def __init__(
        self,
        diagnostics: DiagnosticLimiter,
        *,
        bookends: bool,
        online: bool | None,
        finalized_field: bool,
        players: Iterable[int] = (),
        taken: Iterable[int] = (),
        whole_frames: WholeFrames | None = None,
    ) -> None:
        """`bookends` and `finalized_field` tell us whether the replay declares Frame Bookend and its
        `latest_finalized_frame`.

        `online` is whether the major scene is 8, or `None` for a replay that doesn't have this field. `players` are the
        player indices in Game Start. The first frame waits for these. Use `taken` if you only want the updates of
        certain players. `whole_frames` is what is known about the whole frames of this version.
        """
        self._diagnostics = diagnostics
        self._bookends = bookends
        self.open: OpenFrame | None = None
        """The frame whose events are being read; `None` between frames."""
        # The rules of `find_events`, with counts and the keys of dicts, which cost less than sets of characters.
        self._taken_players = frozenset(taken)
        self._known_players: Set[int] = set(players)
        self._known_followers: Set[int] = set()
        self._completed: int | None = None
        """Without bookends, the frame that was complete last."""
        self._characters: FrameParts | None = None
        """The characters in the last sending, or `None` if the kernel can't take the next one."""
        self.numbers = FrameNumbers(diagnostics)
        self.rule = FinalityRule.of_game(bookends=bookends, online=online, finalized_field=finalized_field)
        self.finality = Finality(diagnostics, self.rule)
        """Those frames that are complete but not final."""
        self._whole_frames = whole_frames
        self._finder = self._new_finder()
        self.noted = -math.inf
        """The highest frame number in which a player may have the action `packed_frame.NOTED_ACTION`."""
        self.last = LastFrame()
        self._first_again: list[int] = []
        """With bookends: the ends of repetitions of the first frame, reported once another frame follows them."""

    def copy(self, diagnostics: DiagnosticLimiter) -> Self:
        """Return a copy of this assembler that is independent from then on.

        Both share the frames that are closed, because these never change.
        """
        twin = copy.copy(self)
        twin._diagnostics = diagnostics
        twin.open = None if self.open is None else self.open.copy()
        twin.numbers = self.numbers.copy(diagnostics)
        twin.finality = self.finality.copy(diagnostics)
        twin._finder = twin._new_finder()
        twin.last = copy.copy(self.last)
        twin._first_again = list(self._first_again)
        return twin

    def frame_start(self, event: Any, end: int, out: list[Event]) -> None:
        """Take a Frame Start (0x3A), which comes once per frame and opens a sending."""
        self._open(event.frame, end, out).start = event

    def pre_frame(self, event: Any, end: int, out: list[Event]) -> None:
        """Take a Pre-Frame Update (0x37) of a player or a follower.

        If there's already one for the same character, this begins the next sending. Before 2.2, this is the only way to
        notice it, because there is no Frame Start.
        """
        frame = self.open
        if frame is None or event.frame != frame.number:
            known = self._known_followers if event.is_follower else self._known_players
            if event.player_index not in known and self._is_late(event.frame, end, out):
                self._await(event)
                return
            frame = self._open(event.frame, end, out)
        elif event.player_index in (frame.followers if event.is_follower else frame.players):
            frame = self._open(event.frame, end, out)
        (frame.followers if event.is_follower else frame.players)[event.player_index] = PlayerFrame(event)
        frame.without_post += 1

    def post_frame(self, event: Any, end: int, out: list[Event]) -> None:
        """Take a Post-Frame Update (0x38) of a player or a follower.

        While the frame is open, a second one replaces the first.
        """
        frame = self.open
        if frame is None or event.frame != frame.number:
            if self._is_late(event.frame, end, out):
                self._await(event)
                return
            frame = self._open(event.frame, end, out)
        characters = frame.followers if event.is_follower else frame.players
        player = characters.get(event.player_index)
        if player is None:
            characters[event.player_index] = PlayerFrame(UNSET, event)
        else:
            if player.post is UNSET:
                frame.without_post -= 1
            player.post = event
        if (
            not self._bookends
            and not frame.without_post
            and self._known_players <= frame.players.keys()
            and self._known_followers <= frame.followers.keys()
        ):
            self._completed = event.frame
            self._close(frame, end, out)
            self.finality.finalize(event.frame, end, out)

    def item(self, event: Any, end: int, out: list[Event]) -> None:
        """Take an Item Update (0x3B), which comes once per frame and item."""
        frame = self.open
        if frame is None or event.frame != frame.number:
            if self._is_late(event.frame, end, out):
                return
            frame = self._open(event.frame, end, out)
        if self._has_room(frame.items, end, out):
            frame.items.append(event)

    def stage_event(self, event: Any, end: int, out: list[Event], command: int) -> None:
        """Take an event of the stage: FOD Platforms (0x3F), Whispy Blow Direction (0x40) or Stadium Transformations
        (0x41).
        """
        frame = self.open
        if frame is None or event.frame != frame.number:
            if self._is_late(event.frame, end, out):
                return
            frame = self._open(event.frame, end, out)
        if self._has_room(frame.stage_events, end, out):
            frame.stage_events.append(stage_event(command, event))

    def bookend(self, event: Any, end: int, out: list[Event]) -> None:
        """Take a Frame Bookend (0x3C), which comes once per frame.

        It completes the frame, and can also make frames final.
        """
        frame = self.open
        if frame is None:
            self._diagnose("empty_frame", f"Frame Bookend {event.frame} without a frame", end, out)
        if frame is None or event.frame != frame.number:
            frame = self._open(event.frame, end, out)
        self._close(frame, end, out)
        latest_finalized = event.latest_finalized_frame
        self.finality.complete(event.frame, None if latest_finalized is UNSET else latest_finalized, end, out)

    def take_whole_frames(self, buffer: bytes, start: int, limit: int, base: int, out: list[Event]) -> int:
        """Take the whole frames from `start` on, and return the position of the first event that you have to read on
        its own.

        `base` is the file offset of the buffer.
        """
        finder, whole_frames = self._finder, self._whole_frames
        if finder is None or whole_frames is None or self.open is not None:
            return start
        while (start := self.take_in_order(buffer, start, limit, base, out)) < limit:
            found = finder.match(buffer, start, limit)
            if found is None:
                break
            end, number, latest_finalized, parts = found
            packed = PackedFrame(JSON_BYTES_PER_BYTE * (end - start), buffer[start:end], whole_frames, parts)
            if not self._take_whole_frame(number, packed, latest_finalized, base + end, out):
                finder.put_back()
                break
            start = end
        return start

    def take_in_order(self, buffer: bytes, start: int, limit: int, base: int, out: list[Event]) -> int:
        """Take the whole frames from `start` on, as long as their numbers are in order and they have the same
        characters as the last one. Returns the position after them.

        This is the usual case, which takes one call of the kernel. `base` is the file offset of the buffer.
        """
        if self._characters is None or self._finder is None or self.open is not None:
            return start
        numbers, finality, last = self.numbers, self.finality, self.last
        start, numbers.next, finality.through, newest, noted = self._finder.take(
            buffer, start, limit, base,
            numbers.next, finality.through, finality.pending, MAX_LAG_FRAMES, self._characters, out,
        )  # fmt: skip
        if newest is not None:
            last.frame = last.newest = newest
            last.gone = last.newest_gone
            if not self._bookends:
                self._completed = newest.number
            if noted is not None:
                self.noted = noted
        return start

    def needed_for_frame(self, buffer: bytes, start: int, limit: int) -> int:
        """If the buffer ends within a frame that begins at `start` and is whole so far, return the position up to which
        we need more bytes. Otherwise, return 0.

        Nothing follows from such a frame before it is complete.
        """
        return 0 if self._finder is None or self.open is not None else self._finder.needed(buffer, start, limit)

    def take_counts(self) -> dict[int, int]:
        """Return how many events of whole frames were taken since the last time you called this, by command byte."""
        return {} if self._finder is None else self._finder.take_counts()

    def _new_finder(self) -> Any:
        """Return the kernel's finder of whole frames, or `None` if there isn't one."""
        if self._whole_frames is None:
            return None
        as_sent = self.rule is FinalityRule.AS_SENT
        return self._whole_frames.finder(bytes(self._taken_players), as_sent=as_sent)

    def _take_whole_frame(
        self, number: int, packed: PackedFrame, latest_finalized: int | None, end: int, out: list[Event]
    ) -> bool:
        """Take all events of a frame that was found to be whole.

        If this returns False, nothing was taken, and you have to read the frame event by event. The reason can be that
        its last event doesn't complete it, or that it might be late.
        """
        players = players_in(packed.parts)
        if not self._bookends:
            followers = followers_in(packed.parts)
            if number == self._completed or not (self._known_players <= players and self._known_followers <= followers):
                return False
            self._completed = number
            self._known_players, self._known_followers = players, followers
        self._append(number, packed, players, end, out)
        self.finality.complete(number, latest_finalized, end, out)
        is_usual = self.numbers.in_order and not self._first_again and self.rule is not FinalityRule.BY_AGE
        self._characters = packed.parts & CHARACTERS if is_usual else None
        return True

    def place_after(self, frames: FramesBefore) -> None:
        """Continue after frames that were found in another way.

        We don't know the characters in the frame before, so the next frame is complete as soon as its own characters
        are.
        """
        self._known_players = self._known_followers = set()
        self._characters = None
        self.numbers.place_after(frames.first, repeated=frames.repeated)
        self.last.place(frames.last, frames.gone)

    def finish(self, end: int, out: list[Event], *, clean: bool) -> None:
        """End the frames, which means that all complete frames become final.

        If the end is `clean`, a frame that is still open counts as complete. Otherwise, it is dropped.
        """
        frame = self.open
        if frame is not None:
            if clean:
                self._report_no_bookend(frame, end, out)
                self._close(frame, end, out)
            self.open = None
        self.finality.finish(end, out)
        if self._first_again:
            self._report_first_again(end, out)

    def _open(self, number: int, end: int, out: list[Event]) -> OpenFrame:
        """Open a sending. If there's already an open one, it is complete now."""
        before = self.open
        if before is not None:
            self._report_no_bookend(before, end, out)
            self._close(before, end, out)
            if self._bookends:
                self.finality.limit_lag(end, out)
            else:
                self.finality.finalize(before.number, end, out)
        frame = self.open = OpenFrame(number)
        return frame

    def _await(self, event: Any) -> None:
        """Note that the next frame has to wait for the character of an event that came too late."""
        self._characters = None
        if event.is_follower:
            self._known_followers = {*self._known_followers, event.player_index}
        else:
            self._known_players = {*self._known_players, event.player_index}

    def _is_late(self, number: int, end: int, out: list[Event]) -> bool:
        """Whether an event belongs to a frame that was already complete."""
        if self.open is not None or self._completed != number:
            return False
        self._diagnose("late_event", f"an event of frame {number} comes after the frame was complete", end, out)
        return True

    def _has_room(self, repeated: list[Any], end: int, out: list[Event]) -> bool:
        if len(repeated) < MAX_REPEATED_EVENTS:
            return True
        number = None if self.open is None else self.open.number
        message = f"frame {number} has more than {MAX_REPEATED_EVENTS} items or stage events"
        self._diagnose("crowded_frame", message, end, out)
        return False

    def _close(self, frame: OpenFrame, end: int, out: list[Event]) -> None:
        """Append the open frame to `out`. If all of its characters are left out, this does nothing."""
        players, followers = frame.players, frame.followers
        self._characters = None
        if not self._bookends:
            self._known_players, self._known_followers = players.keys(), followers.keys()
        has_characters = bool(players or followers)
        taken = self._taken_players
        if taken and not (taken.issuperset(players) and taken.issuperset(followers)):
            players = {index: player for index, player in players.items() if index in taken}
            followers = {index: player for index, player in followers.items() if index in taken}
        if players or followers or not has_characters:
            items, stage_events = frame.items or UNSET, frame.stage_events or UNSET
            entry = FrameEntry(frame.number, 0, frame.start, players, followers or UNSET, items, stage_events)
            self._append(frame.number, entry, players.keys(), end, out)
        self.open = None

    def _append(
        self, number: int, content: FrameEntry | PackedFrame, players: Set[int], end: int, out: list[Event]
    ) -> None:
        """Append a sending that is complete to `out`, and set its revision."""
        numbers, finality = self.numbers, self.finality
        content.revision = revision = numbers.revise(number, end, out)
        frame = Frame(end, number, revision, content)
        self.noted = max(self.noted, number)
        if self._first_again:
            if numbers.repeated:
                self._first_again = []
            elif number != numbers.first:
                self._report_first_again(end, out)
        if finality.through is None or number > finality.through:
            finality.pending[number] = frame
        elif not self._bookends or not numbers.is_only_number(number):
            self._diagnose_again(number, end, end, out)
        elif not numbers.repeated:
            self._first_again.append(end)
        out.append(frame)
        self.last.take(frame, players)

    def _report_first_again(self, end: int, out: list[Event]) -> None:
        for offset in self._first_again:
            self._diagnose_again(self.numbers.first, offset, end, out)
        self._first_again = []

    def _diagnose_again(self, number: int | None, offset: int, end: int, out: list[Event]) -> None:
        message = f"frame {number} comes after {self.finality.through} was final"
        self._diagnostics.report(out, "warning", "final_frame_again", message, offset, end)

    def _report_no_bookend(self, frame: OpenFrame, end: int, out: list[Event]) -> None:
        if self._bookends:
            self._diagnose("frame_without_bookend", f"frame {frame.number} has no Frame Bookend", end, out)

    def _diagnose(self, code: str, message: str, end: int, out: list[Event]) -> None:
        self._diagnostics.report(out, "warning", code, message, end, end)
