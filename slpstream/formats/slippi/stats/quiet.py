"""Quiet frames, which are most frames of a game: in these, nothing begins, ends or hits, and no event is due.

Only the compiled kernel finds them. In a quiet frame, all players stay in their actions, with the same percent and
stocks, and on the same side of the bounds of the stage. So whatever a computer counts in such a frame, it also counts
in all quiet frames that follow, except for inputs and stage control, which the kernel counts. This is why the computers
don't have to see each of these frames: they add them up when the next frame isn't quiet, or when someone needs their
results.
"""

from __future__ import annotations

from typing import Any

from slpstream.formats.slippi.commands import FRAME_START, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.names import BELOW
from slpstream.formats.slippi.packed_frame import PackedFrame, ReadFields, WholeFrames
from slpstream.formats.slippi.stats.inputs import BUTTONS, DEAD_ZONE, TRIGGER
from slpstream.formats.slippi.stats.player import Player
from slpstream.formats.slippi.stats.positions import CONTROL_MARGIN
from slpstream.formats.slippi.stats.punishes import RESET_FRAMES
from slpstream.formats.slippi.stats.roster import Roster
from slpstream.formats.slippi.stats.selected import SelectedPost, SelectedPre
from slpstream.formats.slippi.stats.states import CONTROL, DYING, FLAGS, HELD, HIT, LEDGE, SHIELD
from slpstream.model.events import Frame

MAX_FRAMES = 600
"""Quiet frames in a row. More would only make their inputs take more memory."""
_FIELDS = (
    (FRAME_START, ("scene_frame_counter",)),
    (POST_FRAME, ("action_state_id", "percent", "stocks_remaining", "is_airborne")),
    (POST_FRAME, ("action_state_counter",)),
    (POST_FRAME, ("position_x", "position_y")),
    (PRE_FRAME, ("physical_buttons",)),
    (PRE_FRAME, ("joystick_x", "joystick_y", "c_stick_x", "c_stick_y")),
    (PRE_FRAME, ("physical_l_trigger", "physical_r_trigger")),
)
"""The fields that the kernel's `Watch` looks at."""
_NUMBERS = (BELOW, CONTROL_MARGIN, BUTTONS, DEAD_ZONE, TRIGGER)


class QuietFrames:
    """The quiet frames since the last frame that was not quiet."""

    def __init__(self) -> None:
        self.begun = False
        """Whether quiet frames have been taken since the last `end`, or can be."""
        self.events: WholeFrames | None = None
        """What there is to know about the frames that can be taken."""
        self.watch: Any
        """The kernel's `Watch`, while there are such frames."""
        self._read_pre: ReadFields
        self._read_post: ReadFields
        self._first = b""
        self._players: list[Player] = []
        self._living = 0
        """A bit for each living player, by player index."""

    def take(self, frame: Frame) -> bool:
        """Take the next frame if it is quiet. Returns whether it is."""
        content = frame.content
        return type(content) is PackedFrame and content.events is self.events and bool(self.watch.take(content.data))

    def begin(self, content: PackedFrame, number: int, players: list[Player], roster: Roster) -> None:
        """Begin after a frame that all computers have taken. `players` are the ones in it.

        This does nothing if a computer has something to do in the next frame although all players stay as they are.
        """
        frames = MAX_FRAMES
        living = 0
        for player in players:
            flags = FLAGS[player.post.action_state_id]
            if not flags & DYING:
                if not player.alive:
                    return
                living |= 1 << player.index
            if player.last_hit is not None:
                hitter, state = player.last_hit
                if roster.by_index[hitter].post.action_state_id != state:
                    return
            conversions, combos = player.conversions, player.combos
            if flags & HIT:
                if conversions.open is None or combos.open is None:
                    return
            else:
                if conversions.open is not None and (conversions.counter or flags & CONTROL):
                    frames = min(frames, RESET_FRAMES - conversions.counter)
                if combos.open is not None and not flags & HELD:
                    frames = min(frames, RESET_FRAMES - combos.counter)
            if player.actions.due is not None:
                frames = min(frames, player.actions.due - number - 1)
        if frames <= 0:
            return
        if content.events is not self.events:
            self._prepare(content.events, roster)
        self._first, self._players, self._living = content.data, players, living
        self.watch.begin(content.data, frames, living)
        self.begun = True

    def _prepare(self, events: WholeFrames, roster: Roster) -> None:
        """Get ready to take frames of a game with these events."""
        self.events = events
        self.watch = events.watch(bytes(roster.by_index), _FIELDS, (roster.edge, *_NUMBERS))
        self._read_pre = events.fields(PRE_FRAME, SelectedPre.__struct_fields__, SelectedPre)
        self._read_post = events.fields(POST_FRAME, SelectedPost.__struct_fields__, SelectedPost)

    def end(self, roster: Roster, timer_start: int) -> tuple[int, bytes]:
        """Let the computers of all players add the quiet frames.

        Returns the number of quiet frames, and the bytes of the last frame.
        """
        self.begun = False
        last, frames, nearest, inputs = self.watch.end()
        if not frames:
            return 0, last
        for index, number, *counts in inputs:
            roster.by_index[index].inputs.add(number - timer_start, *counts)
        for index, pre in self._read_pre(last, self._first).items():
            if index in roster.by_index:
                roster.by_index[index].inputs.follow(pre)
        posts = self._read_post(last)
        are_contested = self._living & (self._living - 1) != 0  # at least two bits are set
        for player in self._players:
            player.prev = player.post = post = posts[player.index]
            flags = FLAGS[post.action_state_id]
            conversions, combos = player.conversions, player.combos
            if conversions.open is not None or combos.open is not None:
                if conversions.counter or flags & CONTROL:
                    conversions.counter += frames
                combos.counter = 0 if flags & HELD else combos.counter + frames
            if flags & (SHIELD | LEDGE):
                player.positions.shield_or_ledge(flags, frames)
            if player.positions.off_stage:
                player.positions.off_stage_frames += frames
            if are_contested and self._living >> player.index & 1:
                player.positions.contested_frames += frames
                player.positions.control_frames += nearest[player.index]
        return frames, last
