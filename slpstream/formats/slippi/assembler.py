"""The assembler: which events make up a frame, when the frame is complete, and when it is final.

A frame is complete at its Frame Bookend. Before 3.0, which has no bookends, it is complete when all characters have
their Post-Frame Update (`completion`), and otherwise when the next frame begins or the game ends. On netplay a rollback
sends a frame number again. Each *sending* has a `revision` one higher than the last and starts empty, so items and
stage events are never doubled.

A frame becomes final by one of four rules (spec page, rule 3), chosen by Game Start and the declared sizes:

- without bookends: when it is complete, because no rollback was ever seen there;
- offline, since 3.7: at its bookend;
- online with `latest_finalized_frame`: when that reaches it; a lower value than before has no effect;
- with bookends but without these fields: when 7 newer frame numbers are complete.

Few frames are complete but not final, at most 7 on real netplay. In a file whose latest finalized frame never moves
there would be ever more; beyond `MAX_LAG_FRAMES` the oldest become final anyway, with a diagnostic.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import MAX_THINGS, STAGE_EVENT_KINDS
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.frame_entry import FrameEntry, PlayerFrame, StageEvent
from slpstream.formats.slippi.packed_frame import Decoder, PackedFrame
from slpstream.formats.slippi.revisions import Revisions
from slpstream.model.events import Event, Frame, FrameFinalized

ROLLBACK_FRAMES = 7
MAX_LAG_FRAMES = 120
MAX_REPEATS = 8
"""From this many repetitions on, a game that has sent no other frame number is one whose numbers tell no time."""
MAX_NUMBERS_APART = 1 << 17
"""Frame numbers that are remembered one by one because they did not come one after the other."""


class FramesBefore(NamedTuple):
    """Frames that were not assembled, but found in another way."""

    first: int | None = None
    """The number of the first frame."""
    last: Frame | None = None
    """The latest sending of the highest frame number."""
    gone: Mapping[int, Any] = MappingProxyType({})
    """The last Post-Frame Updates of players that the last frame lacks, by player index."""
    repeated: bool = False
    """Whether all have the number of the first, which came again `MAX_REPEATS` times or more."""


Finalize = Callable[["Assembler", int, int | None, int], None]
"""(assembler, number of a frame that is complete, its latest finalized frame, file offset) makes frames final."""


class Assembler:
    """Puts decoded events into frames and appends `Frame`, `FrameFinalized` and `Diagnostic` to `out`.

    The methods named after events take them in file order; `end` is the file offset just past the event.
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
    ) -> None:
        """`bookends` and `finalized_field`: whether the replay declares Frame Bookend and its `latest_finalized_frame`.
        `online`: whether the major scene is 8, `None` in replays without that field. `players`: the player indices in
        Game Start, for whom the first frame waits. `taken`: the players whose updates are taken; empty for all."""
        self.out: list[Event] = []
        self._diagnostics = diagnostics
        self._bookends = bookends
        self._finalize: Finalize = _rule(bookends, online, finalized_field)
        # The open sending.
        self._number: int | None = None
        self._start: Any = UNSET
        self._players: dict[int, PlayerFrame] = {}
        self._followers: dict[int, PlayerFrame] = {}
        self._items: list[Any] = []
        self._stage_events: list[Any] = []
        # The rules of `completion`, with counts and the keys of dicts, which cost less than sets of characters.
        self._without_post = 0
        self._taken_players = frozenset(taken)
        self._known_players: Set[int] = set(players)
        self._known_followers: Set[int] = set()
        self._completed: int | None = None
        """Without bookends, the frame that was complete last."""
        # Closed sendings. Numbers from `first` to before `_next` came in order; `_revisions` has the numbers that came
        # again or out of order, `_pending` those that are complete but not final.
        self._revisions = Revisions()
        self._next = 0
        self._pending: list[int] = []
        self.through: int | None = None
        """The highest final frame number."""
        self.last: Frame | None = None
        """The latest sending of the highest frame number."""
        self.first: int | None = None
        """The number of the first frame."""
        self.gone: Mapping[int, Any] = {}
        """The last Post-Frame Updates, before `last`, of players that later sendings lack, by player index."""
        self._gone: Mapping[int, Any] = {}
        """The same up to the newest sending. Replaced, never changed."""
        self._repeated = False
        """Whether the first frame number came again `MAX_REPEATS` times before there was another one."""
        self._first_again: list[int] = []
        """With bookends: the ends of repetitions of the first frame, reported once not all frames repeat it."""
        self._newest: Frame | None = None
        self._shown_players: Set[int] = frozenset()
        """The players of the newest sending."""

    def copy(self, diagnostics: DiagnosticLimiter) -> Self:
        """An independent assembler in the same state. Closed frames are values and shared."""
        twin = copy.copy(self)
        twin._diagnostics = diagnostics
        twin._players = {index: copy.copy(player) for index, player in self._players.items()}
        twin._followers = {index: copy.copy(player) for index, player in self._followers.items()}
        twin._items = list(self._items)
        twin._stage_events = list(self._stage_events)
        twin._revisions = self._revisions.copy()
        twin._pending = list(self._pending)
        twin._first_again = list(self._first_again)
        return twin

    def frame_start(self, event: Any, end: int) -> None:
        """Frame Start 0x3A, once per frame: opens a sending."""
        self._open(event.frame, end)
        self._start = event

    def pre_frame(self, event: Any, end: int) -> None:
        """Pre-Frame Update 0x37 of a player or a follower.

        If the frame has one of this character already, it is sent again: before 2.2, which has no Frame Start, nothing
        else shows that.
        """
        if event.frame != self._number:
            known = self._known_followers if event.is_follower else self._known_players
            if event.player_index not in known and self._is_late(event.frame, end):
                self._await(event)
                return
            self._open(event.frame, end)
        side = self._followers if event.is_follower else self._players
        if event.player_index in side:
            self._close_early(event.frame, end)
            self._number = event.frame
            side = self._followers if event.is_follower else self._players
        side[event.player_index] = PlayerFrame(event)
        self._without_post += 1

    def post_frame(self, event: Any, end: int) -> None:
        """Post-Frame Update 0x38 of a player or a follower. A second one replaces the first while the frame is open."""
        if event.frame != self._number:
            if self._is_late(event.frame, end):
                self._await(event)
                return
            self._open(event.frame, end)
        side = self._followers if event.is_follower else self._players
        player = side.get(event.player_index)
        if player is None:
            side[event.player_index] = PlayerFrame(UNSET, event)
        else:
            if player.post is UNSET:
                self._without_post -= 1
            player.post = event
        if (
            not self._bookends
            and not self._without_post
            and self._known_players <= self._players.keys()
            and self._known_followers <= self._followers.keys()
        ):
            self._completed = event.frame
            self._close(end)
            self._final_through(event.frame, end)

    def item(self, event: Any, end: int) -> None:
        """Item Update 0x3B, once per frame and item."""
        if event.frame != self._number:
            if self._is_late(event.frame, end):
                return
            self._open(event.frame, end)
        if self._has_room(self._items, end):
            self._items.append(event)

    def stage_event(self, event: Any, end: int, command: int) -> None:
        """FOD Platforms 0x3F, Whispy Blow Direction 0x40 or Stadium Transformations 0x41."""
        if event.frame != self._number:
            if self._is_late(event.frame, end):
                return
            self._open(event.frame, end)
        if self._has_room(self._stage_events, end):
            values = {name: getattr(event, name) for name in event.__struct_fields__}
            self._stage_events.append(StageEvent(STAGE_EVENT_KINDS[command], **values))

    def bookend(self, event: Any, end: int) -> None:
        """Frame Bookend 0x3C, once per frame: completes the frame, and can make frames final."""
        if event.frame != self._number:
            if self._number is None:
                self._diagnose("empty_frame", f"Frame Bookend {event.frame} without a frame", end)
            self._open(event.frame, end)
        self._close(end)
        latest_finalized = event.latest_finalized_frame
        self._finalize(self, event.frame, None if latest_finalized is UNSET else latest_finalized, end)

    def whole_frame(self, number: int, decoder: Decoder, data: bytes, latest_finalized: int | None, end: int) -> bool:
        """All events of a frame: its bytes, as `decoder` has recognized them. Only allowed while `between_frames`.

        Returns false, and takes nothing, if the frame has to come event by event, because it is not complete with its
        last event, or because it could be late.
        """
        if not self._bookends:
            players, followers = decoder.players, decoder.followers
            if number == self._completed or not (self._known_players <= players and self._known_followers <= followers):
                return False
            self._completed = number
            self._known_players, self._known_followers = players, followers
        revision = self._revise(number, end)
        self._emit(Frame(end, number, revision, PackedFrame(data, decoder, revision)), decoder.players)
        self._finalize(self, number, latest_finalized, end)
        return True

    def place_after(self, frames: FramesBefore) -> None:
        """Continue after frames that were found in another way.

        The characters of the frame before are not known: only those of the next frame say when it is complete.
        """
        self._known_players = self._known_followers = set()
        self.first, self.last, self._repeated = frames.first, frames.last, frames.repeated
        self.gone = self._gone = frames.gone
        self._next = 0 if self.first is None else self.first + 1

    @property
    def tells_time(self) -> bool:
        """Whether the frame numbers count the time of the game."""
        return not (self._repeated and self.first is not None and self._repeats_only(self.first))

    @property
    def between_frames(self) -> bool:
        """Whether no frame is open."""
        return self._number is None

    def finish(self, end: int, *, clean: bool) -> None:
        """End the frames: all complete frames become final. An open frame is complete if the end is `clean`, else it is
        dropped."""
        if self._number is not None:
            if clean:
                if self._bookends:
                    self._diagnose("frame_without_bookend", f"frame {self._number} has no Frame Bookend", end)
                self._close(end)
            self._drop_open()
        if self._pending:
            self._final_through(max(self._pending), end)
        if self._first_again:
            self._report_first_again(end)

    def _open(self, number: int, end: int) -> None:
        if self._number is not None:
            self._close_early(number, end)
        self._number = number

    def _await(self, event: Any) -> None:
        """Wait for the character of a late event in the next frame."""
        if event.is_follower:
            self._known_followers = {*self._known_followers, event.player_index}
        else:
            self._known_players = {*self._known_players, event.player_index}

    def _is_late(self, number: int, end: int) -> bool:
        """Whether an event of this frame comes after the frame was complete."""
        if self._number is not None or self._completed != number:
            return False
        self._diagnose("late_event", f"an event of frame {number} comes after the frame was complete", end)
        return True

    def _close_early(self, next_number: int, end: int) -> None:
        """Close the open sending because another begins."""
        if self._bookends:
            self._diagnose("frame_without_bookend", f"frame {self._number} has no Frame Bookend", end)
        closed = self._number
        self._close(end)
        if self._bookends:
            self._bound_lag(end)
        elif closed is not None:
            self._final_through(closed, end)

    def _has_room(self, things: list[Any], end: int) -> bool:
        if len(things) < MAX_THINGS:
            return True
        self._diagnose("crowded_frame", f"frame {self._number} has more than {MAX_THINGS} items or stage events", end)
        return False

    def _close(self, end: int) -> None:
        number = self._number
        if number is None:
            return
        players, followers, items, stage_events = self._players, self._followers, self._items, self._stage_events
        if not self._bookends:
            self._known_players, self._known_followers = players.keys(), followers.keys()
        has_characters = bool(players or followers)
        taken = self._taken_players
        if taken and not (taken.issuperset(players) and taken.issuperset(followers)):
            players = {index: player for index, player in players.items() if index in taken}
            followers = {index: player for index, player in followers.items() if index in taken}
        if players or followers or not has_characters:
            revision = self._revise(number, end)
            entry = FrameEntry(
                number, revision, self._start, players, followers or UNSET, items or UNSET, stage_events or UNSET
            )
            self._emit(Frame(end, number, revision, entry), players.keys())
        self._drop_open()

    def _revise(self, number: int, end: int) -> int:
        """The revision of a sending that is complete."""
        revision = self._revision(number, end)
        if self._first_again and number != self.first:
            self._report_first_again(end)
        if self.through is not None and number <= self.through:
            if not self._bookends or not self._repeats_only(number):
                self._diagnose_again(number, end, end)
            elif not self._repeated:
                self._first_again.append(end)
        return revision

    def _report_first_again(self, end: int) -> None:
        for offset in self._first_again:
            self._diagnose_again(self.first, offset, end)
        self._first_again = []

    def _diagnose_again(self, number: int | None, offset: int, end: int) -> None:
        what = f"frame {number} comes after {self.through} was final"
        self._diagnostics.report(self.out, "warning", "final_frame_again", what, offset, end)

    def _repeats_only(self, number: int) -> bool:
        """Whether the game has sent no other frame number."""
        revisions = self._revisions
        others = revisions.count - (revisions.get(number) is not None)
        return number == self.first and self._next == number + 1 and not others

    def _emit(self, frame: Frame, players: Set[int]) -> None:
        if players is not self._shown_players:
            if not self._shown_players <= players:
                self._note_gone(players)
            self._shown_players = players
        self._newest = frame
        self.out.append(frame)
        if self.last is None or frame.number >= self.last.number:
            self.last, self.gone = frame, self._gone

    def _note_gone(self, players: Set[int]) -> None:
        """Keep the Post-Frame Updates of the players of the newest sending that are not in the next one."""
        shown = {} if self._newest is None else self._newest.entry.players
        gone = {index: player.post for index, player in shown.items() if index not in players}
        self._gone = {index: post for index, post in {**self._gone, **gone}.items() if post}

    def _drop_open(self) -> None:
        self._number = None
        self._start = UNSET
        self._players = {}
        self._followers = {}
        self._without_post = 0
        if self._items:
            self._items = []
        if self._stage_events:
            self._stage_events = []

    def _revision(self, number: int, end: int) -> int:
        """How often the number was closed before. Numbers that come in order take no memory."""
        revisions = self._revisions
        known = revisions.get(number) if revisions.count else None
        if number == self._next and self.first is not None and known is None:
            self._next += 1
            revision = 0
        elif self.first is None:
            self.first, self._next = number, number + 1
            revision = 0
        else:
            if revisions.count >= MAX_NUMBERS_APART or revisions.full:
                self._diagnose("numbers_forgotten", "too many frame numbers out of order; revisions start anew", end)
                revisions.clear()
                known = None
            if known is None:
                known = 0 if self.first <= number < self._next else -1
            revision = known + 1
            revisions.put(number, revision)
            if revision == MAX_REPEATS and self._repeats_only(number):
                self._diagnose("repeated_frame", f"all frames have the number {number}, which tells no time", end)
                self._repeated, self._first_again = True, []
        if revision == 0 and (self.through is None or number > self.through):
            self._pending.append(number)
        return revision

    def _when_complete(self, number: int, latest_finalized: int | None, end: int) -> None:
        self._final_through(number, end)

    def _as_sent(self, number: int, latest_finalized: int | None, end: int) -> None:
        self._final_through(number if latest_finalized is None else min(latest_finalized, number), end)
        self._bound_lag(end)

    def _by_age(self, number: int, latest_finalized: int | None, end: int) -> None:
        if len(self._pending) > ROLLBACK_FRAMES:
            self._pending.sort()
            self._final_through(self._pending[-ROLLBACK_FRAMES - 1], end)

    def _bound_lag(self, end: int) -> None:
        if len(self._pending) > MAX_LAG_FRAMES:
            self._diagnose("finality_lag", f"more than {MAX_LAG_FRAMES} frames are not final; the oldest are now", end)
            self._pending.sort()
            self._final_through(self._pending[-MAX_LAG_FRAMES // 2], end)

    def _final_through(self, number: int, end: int) -> None:
        if self.through is not None and number <= self.through:
            return
        if self._pending == [number]:  # the usual case when frames become final at their bookends
            self._pending = []
            self.through = number
            self.out.append(FrameFinalized(end, number))
            return
        pending = [n for n in self._pending if n > number]
        if len(pending) == len(self._pending):
            return
        self._pending = pending
        self.through = number
        self.out.append(FrameFinalized(end, number))

    def _diagnose(self, code: str, message: str, end: int) -> None:
        self._diagnostics.report(self.out, "warning", code, message, end, end)


def _rule(bookends: bool, online: bool | None, finalized_field: bool) -> Finalize:
    """The rule by which frames become final. It is not bound, because an assembler that refers to itself is freed
    late."""
    if not bookends or online is False:
        return Assembler._when_complete
    return Assembler._as_sent if online and finalized_field else Assembler._by_age
