"""The assembler, which decides which events form a frame, when this frame is complete, and when it is final.

Usually, a frame is complete at its Frame Bookend, or else when the next frame begins or the game ends. On netplay, a
rollback sends a frame number again. Each *sending* has a `revision` that is one higher than the last one. It also
starts empty, so you never get items or stage events twice.

There are no bookends before 3.0. There, the game first sends the Pre-Frame Updates of all characters, and then their
Post-Frame Updates (observed in all 22 real replays before 3.0). So if each character of a frame has its Post-Frame
Update, and no character of the frame before is missing, then the frame is complete. For the first frame, we use the
players of Game Start instead. If a character has gone, we can't know this in that frame until the next one begins. As
soon as a frame is complete, it is also final, so if there are more events of it later, they have no effect. If a
character comes too late, the next frame waits for it. The compiled kernel follows the same rules on its own, and there
are tests that compare them.

There are four rules that say when a complete frame becomes final (spec page, rule 3). Which one applies to a game
depends on Game Start and the declared sizes:

- without bookends: when it is complete, because no rollback was ever seen there;
- offline, since 3.7: at its bookend;
- online with `latest_finalized_frame`: when that reaches it; a lower value than before has no effect;
- with bookends but without these fields: when 7 newer frame numbers are complete.

Usually, there are only a few frames that are complete but not final; on real netplay, there are at most 7. However, if
there's a file in which the latest finalized frame never advances, there would be more and more of them. That's why we
make the oldest ones final if there are more than `MAX_LAG_FRAMES`, and report this with a diagnostic.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from slpstream.formats.slippi.commands import FRAME_BOOKEND, MAX_REPEATED_EVENTS
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.frame_entry import FrameEntry
from slpstream.formats.slippi.frame_events import BOOKEND, POST, PRE, START
from slpstream.formats.slippi.frame_numbers import FrameNumbers
from slpstream.formats.slippi.packed_frame import (
    CHARACTERS,
    JSON_BYTES_PER_BYTE,
    Character,
    FrameParts,
    PackedFrame,
    characters_in,
    players_in,
    whole_frames,
)
from slpstream.model.events import Event, Frame, FrameFinalized

ROLLBACK_FRAMES = 7
MAX_LAG_FRAMES = 120


class FramesBefore(NamedTuple):
    """The frames of a game up to some position: everything that decides how the game goes on and ends."""

    first: int | None = None
    """The number of the first frame."""
    last: Frame | None = None
    """The latest sending of the highest frame number."""
    gone: Mapping[int, Any] = MappingProxyType({})
    """The last Post-Frame Updates of players that the last frame lacks, by player index."""
    repeated: bool = False
    """Whether all have the number of the first, repeated `MAX_REPEATS` times or more (`frame_numbers`)."""


class Assembler:
    """Assembles decoded events into frames.

    In all methods, `end` is the offset in the file just after the event that was read last. The `Frame`,
    `FrameFinalized` and `Diagnostic` events that result from it are appended to `out`.
    """

    def __init__(
        self,
        diagnostics: DiagnosticLimiter,
        widths: tuple[int, ...],
        players: Iterable[int],
        *,
        online: bool | None,
    ) -> None:
        """`widths` are the declared widths by command byte.

        `players` are the player indices in Game Start: the first frame waits for these, and updates of others are left
        out, unless there are none. `online` is whether the major scene is 8, or `None` for a replay that doesn't have
        this field.
        """
        self._diagnostics = diagnostics
        self._bookends = widths[BOOKEND] > 0
        self._rule: Literal["when complete", "as sent", "by age"] = "when complete"
        if self._bookends and online is not False:
            has_finalized = widths[BOOKEND] >= FRAME_BOOKEND.fields[1].end
            self._rule = "as sent" if online and has_finalized else "by age"
        self.players = frozenset(players)
        self._open: FrameEntry | None = None
        """The frame whose events are being read; `None` between frames."""
        # Only without bookends:
        self._expected: set[Character] = {(index, False) for index in self.players}
        """The characters of the last sending, those that came too late included."""
        self._updated: set[Character] = set()
        """The characters that have their Post-Frame Update in the open sending."""
        self._completed: int | None = None
        """The frame that was complete last."""
        self._numbers = FrameNumbers()
        self._pending: dict[int, Frame] = {}
        """The complete frames that are not final, each with its latest revision, by frame number."""
        self.through: int | None = None
        """The highest final frame number."""
        self._again: list[tuple[int, int]] = []
        """The numbers and ends of final frames that came again and have to be reported. With bookends, repetitions of
        the first frame wait here for another frame."""
        self._last: Frame | None = None
        self._gone: Mapping[int, Any] = {}
        self._newest: Frame | None = None
        """The newest sending, which is not `_last` if its frame number is lower."""
        self._newest_players: Set[int] = frozenset()
        self._newest_gone: Mapping[int, Any] = {}
        """Like `_gone`, but up to the newest sending. Replaced, never changed."""
        self._characters: FrameParts | None = None
        """The characters in the last sending, or `None` if the kernel can't take the next event."""
        self._whole_frames = whole_frames(widths)
        self._finder = self._new_finder()
        self.noted = -math.inf
        """The highest frame number in which a player may have the action `packed_frame.NOTED_ACTION`."""

    def copy(self, diagnostics: DiagnosticLimiter) -> Self:
        """Return a copy that is independent from then on. Both share the closed frames, because these never change."""
        twin = copy.copy(self)
        twin._diagnostics = diagnostics
        twin._open = copy.deepcopy(self._open)
        twin._expected, twin._updated = set(self._expected), set(self._updated)
        twin._numbers = self._numbers.copy()
        twin._pending = dict(self._pending)
        twin._again = list(self._again)
        twin._finder = twin._new_finder()
        return twin

    @property
    def frames(self) -> FramesBefore:
        """The frames up to now."""
        numbers = self._numbers
        return FramesBefore(numbers.first, self._last, self._gone, repeated=numbers.repeated and numbers.all_equal)

    def place_after(self, frames: FramesBefore) -> None:
        """Continue after frames that were found in another way.

        We don't know the characters in the frame before, so the next frame is complete as soon as its own characters
        are.
        """
        self._expected = set()
        self._characters = None
        self._numbers = FrameNumbers(frames.first, repeated=frames.repeated)
        self._last = frames.last
        self._gone = self._newest_gone = frames.gone

    def take(self, command: int, event: Any, end: int, out: list[Event]) -> None:
        """Take the next event that belongs to a frame, decoded.

        Frame Start begins a sending, and so does another frame number, and a second Pre-Frame Update of a character.
        Before 2.2, there is no Frame Start. A second Post-Frame Update replaces the first.
        """
        frame = self._open
        if frame is None:
            if not self._bookends and event.frame == self._completed and self._is_late(command, event, end, out):
                return
            if command == BOOKEND:
                message = f"Frame Bookend {event.frame} without a frame"
                self._diagnostics.report(out, "empty_frame", message, end)
            frame = self._begin(event.frame, end, out)
        elif (
            event.frame != frame.frame
            or command == START
            or (command == PRE and event.player_index in (frame.followers if event.is_follower else frame.players))
        ):
            frame = self._begin(event.frame, end, out)
        if command == BOOKEND:
            self._close(frame, end, out)
            self._complete(event.frame, event.latest_finalized_frame, end, out)
        elif not frame.add(command, event):
            message = f"frame {frame.frame} has more than {MAX_REPEATED_EVENTS} items or stage events"
            self._diagnostics.report(out, "crowded_frame", message, end)
        elif command == POST and not self._bookends:
            updated = self._updated
            updated.add((event.player_index, event.is_follower))
            if len(updated) == len(frame.players) + len(frame.followers) and self._expected <= updated:
                self._expected = updated
                self._close(frame, end, out)

    def _is_late(self, command: int, event: Any, end: int, out: list[Event]) -> bool:
        """Whether an event between frames belongs to the last one, which is complete."""
        character = (event.player_index, event.is_follower) if command in (PRE, POST) else None
        if command == START or (command == PRE and character in self._expected):
            return False
        message = f"an event of frame {event.frame} comes after the frame was complete"
        self._diagnostics.report(out, "late_event", message, end)
        if character is not None:  # the next frame has to wait for it
            self._expected.add(character)
            self._characters = None
        return True

    def _begin(self, number: int, end: int, out: list[Event]) -> FrameEntry:
        """Begin a sending. If there's already an open one, it is complete now."""
        if self._open is not None:
            self._close_at_next(self._open, end, out)
            self._limit_lag(end, out)
        self._open, self._updated, self._characters = FrameEntry(number), set(), None
        return self._open

    def _close_at_next(self, frame: FrameEntry, end: int, out: list[Event]) -> None:
        """Close a frame that is complete because the next one begins, or the game ends."""
        if self._bookends:
            message = f"frame {frame.frame} has no Frame Bookend"
            self._diagnostics.report(out, "frame_without_bookend", message, end)
        else:
            self._expected = {(index, False) for index in frame.players} | {(index, True) for index in frame.followers}
        self._close(frame, end, out)

    def _close(self, frame: FrameEntry, end: int, out: list[Event]) -> None:
        """Append the open frame to `out`, unless all of its characters are left out. Without bookends, it's final."""
        self._open, self._completed = None, frame.frame
        has_characters = bool(frame.players or frame.followers)
        if self.players:
            for stranger in {*frame.players, *frame.followers} - self.players:
                frame.players.pop(stranger, None)
                frame.followers.pop(stranger, None)
        if frame.players or frame.followers or not has_characters:
            frame.close()
            self._append(frame.frame, frame, frame.players.keys(), end, out)
        if not self._bookends:
            self._finalize(frame.frame, end, out)

    def finish(self, end: int, out: list[Event], *, clean: bool) -> None:
        """End the frames, which means that all complete frames become final.

        If the end is `clean`, a frame that is still open counts as complete. Otherwise, it is dropped.
        """
        if self._open is not None and clean:
            self._close_at_next(self._open, end, out)
        self._open = None
        if self._pending:
            self._finalize(max(self._pending), end, out)
        self._report_again(end, out)

    def _append(
        self, number: int, content: FrameEntry | PackedFrame, players: Set[int], end: int, out: list[Event]
    ) -> None:
        """Append a sending that is complete to `out`, and set its revision."""
        numbers = self._numbers
        content.revision = revision = numbers.revise(number, self._diagnostics, end, out)
        frame = Frame(end, number, revision, content)
        self.noted = max(self.noted, number)
        if self.through is None or number > self.through:
            self._pending[number] = frame
        else:
            self._again.append((number, end))
        if self._again:
            if not self._bookends or not numbers.all_equal:
                self._report_again(end, out)
            elif numbers.repeated:
                self._again.clear()
        out.append(frame)
        if not self._newest_players <= players and self._newest is not None:
            gone = {index: player.post for index, player in self._newest.entry.players.items() if index not in players}
            self._newest_gone = {index: post for index, post in {**self._newest_gone, **gone}.items() if post}
        self._newest, self._newest_players = frame, players
        if self._last is None or number >= self._last.number:
            self._last, self._gone = frame, self._newest_gone

    def _complete(self, number: int, latest_finalized: Any, end: int, out: list[Event]) -> None:
        """Apply the rule to a frame that is complete now. Its bookend says what the latest finalized frame is."""
        if self._rule == "when complete":
            self._finalize(number, end, out)
        elif self._rule == "as sent":
            self._finalize(min(latest_finalized, number), end, out)
            self._limit_lag(end, out)
        elif len(self._pending) > ROLLBACK_FRAMES:
            self._finalize(sorted(self._pending)[-ROLLBACK_FRAMES - 1], end, out)

    def _limit_lag(self, end: int, out: list[Event]) -> None:
        """If more than `MAX_LAG_FRAMES` are pending, make the oldest ones final."""
        if len(self._pending) > MAX_LAG_FRAMES:
            message = f"more than {MAX_LAG_FRAMES} frames are not final; the oldest are now"
            self._diagnostics.report(out, "finality_lag", message, end)
            self._finalize(sorted(self._pending)[-MAX_LAG_FRAMES // 2], end, out)

    def _finalize(self, number: int, end: int, out: list[Event]) -> None:
        """Make all complete frames up to `number` final."""
        if self.through is not None and number <= self.through:
            return
        pending = self._pending
        if len(pending) == 1 and number in pending:  # the usual case when frames become final at their bookends
            final = [pending.pop(number)]
        else:
            final = [pending.pop(n) for n in sorted(pending) if n <= number]
        if final:
            self.through = number
            out.append(FrameFinalized(end, number, final))

    def take_whole_frames(self, buffer: bytes, start: int, limit: int, base: int, out: list[Event]) -> tuple[int, int]:
        """Take the whole frames from `start` on, and return the position of the first event that you have to read on
        its own.

        If the buffer ends within a frame there which is whole so far, you also get the position up to which we need
        more bytes, because nothing follows from such a frame before it is complete. Otherwise, this is 0. `base` is the
        file offset of the buffer.
        """
        finder = self._finder
        if finder is None or self._open is not None:
            return start, 0
        while (start := self.take_in_order(buffer, start, limit, base, out)) < limit:
            found = finder.match(buffer, start, limit)
            if isinstance(found, int):
                return start, found
            end, number, latest_finalized, parts = found
            if not self._bookends:
                characters = characters_in(parts)
                if number == self._completed or not self._expected <= characters:
                    finder.put_back()  # it might be late, or its last event doesn't complete it
                    break
                self._completed, self._expected = number, characters
            packed = PackedFrame(JSON_BYTES_PER_BYTE * (end - start), buffer[start:end], self._whole_frames, parts)
            self._append(number, packed, players_in(parts), base + end, out)
            self._complete(number, latest_finalized, base + end, out)
            is_usual = self._numbers.in_order and not self._again and self._rule != "by age"
            self._characters = parts & CHARACTERS if is_usual else None
            start = end
        return start, 0

    def take_in_order(self, buffer: bytes, start: int, limit: int, base: int, out: list[Event]) -> int:
        """Take the whole frames from `start` on, as long as their numbers are in order and they have the same
        characters as the last one. Returns the position after them.

        This is the usual case, which takes one call of the kernel. `base` is the file offset of the buffer.
        """
        if self._characters is None:
            return start
        numbers = self._numbers
        start, numbers.next, self.through, newest, noted = self._finder.take(
            buffer, start, limit, base,
            numbers.next, self.through, self._pending, MAX_LAG_FRAMES, self._characters, out,
        )  # fmt: skip
        if newest is not None:
            self._last = self._newest = newest
            self._gone = self._newest_gone
            self._completed = newest.number
            if noted is not None:
                self.noted = noted
        return start

    def take_counts(self) -> dict[int, int]:
        """Return how many events of whole frames were taken since the last time you called this, by command byte."""
        return {} if self._finder is None else self._finder.take_counts()

    def _new_finder(self) -> Any:
        """Return the kernel's finder of whole frames, or `None` if there isn't one."""
        return self._whole_frames.finder(bytes(self.players), as_sent=self._rule == "as sent")

    def _report_again(self, end: int, out: list[Event]) -> None:
        for number, offset in self._again:
            message = f"frame {number} comes after {self.through} was final"
            self._diagnostics.report(out, "final_frame_again", message, offset, end)
        self._again.clear()
