"""Frames that are still bytes. On the live path, this is true for most frames (`PackedFrame`).

If we decoded all of their fields, this would take most of the time of the stats, so we only read those that the
computers need.

Most frames of a game are also quiet: in these, nothing begins, ends or hits, and no event is due. Only the compiled
kernel finds them. In a quiet frame, all players stay in their actions, with the same percent and stocks, and on the
same side of the bounds of the stage. So whatever a computer counts in such a frame, it also counts in all quiet frames
that follow, except for inputs and stage control, which the kernel counts. This is why the computers only add these
frames up, when the next one isn't quiet, or when someone needs their results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import FRAME_START, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.names import BELOW
from slpstream.formats.slippi.packed_frame import PackedFrame, ReadFields, WholeFrames
from slpstream.formats.slippi.stats.game_state import GameState, Player
from slpstream.formats.slippi.stats.inputs import BUTTONS, DEAD_ZONE, TRIGGER, Pre
from slpstream.formats.slippi.stats.positions import CONTROL_MARGIN
from slpstream.formats.slippi.stats.punishes import RESET_FRAMES
from slpstream.formats.slippi.stats.states import CONTROL, DYING, FLAGS, HELD, HIT, LEDGE, SHIELD
from slpstream.model.events import Frame

MAX_FRAMES = 600
"""Quiet frames in a row. More would only make their inputs take more memory."""
_WATCHED = (
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


class _Post(msgspec.Struct, gc=False):
    """Those parts of a Post-Frame Update that the computers need, in the order of the event.

    Fields that don't exist in the oldest versions are UNSET there.
    """

    frame: Any
    internal_character_id: Any
    action_state_id: Any
    position_x: Any
    position_y: Any
    facing_direction: Any
    percent: Any
    last_attack_landed: Any
    last_hit_by: Any
    stocks_remaining: Any
    action_state_counter: Any = UNSET
    is_airborne: Any = UNSET
    l_cancel_status: Any = UNSET


class PackedFrames(Computer):
    """Reads the frames of one game, which must be in order, and adds up the quiet ones."""

    def __init__(self) -> None:
        self.watched: WholeFrames | None = None
        """What there is to know about the frames that can be quiet; `None` if the next one can't."""
        self.watch: Any = None
        """The kernel's `Watch`, which takes the next frame if it is quiet."""
        self._events: WholeFrames | None = None
        self._read_counter: ReadFields
        self._read_pre: ReadFields
        self._read_post: ReadFields
        self._before: bytes | None = None
        """The last frame, or `None` if it wasn't packed."""
        self._players: list[Player] = []
        self._living = 0
        """A bit for each living player, by player index."""

    def copy(self) -> Self:
        """Return one for the next frame. There must not be quiet frames that weren't added up."""
        return type(self)()

    def read(self, frame: Frame, game: GameState) -> tuple[Any, Mapping[int, Any], Mapping[int, Any]]:
        """Return the `scene_frame_counter` of a frame, and its Pre-Frame and Post-Frame Updates by player index.

        If the frame is packed, these have only the fields we need, and Pre-Frame Updates are left out whose fields are
        the same as in the frame before.
        """
        content = frame.content
        if type(content) is not PackedFrame:
            self._before = None
            start, players = content.start, content.players
            pres = {index: player.pre for index, player in players.items() if player.pre is not UNSET}
            posts = {index: player.post for index, player in players.items() if player.post is not UNSET}
            return UNSET if start is UNSET else start.scene_frame_counter, pres, posts
        if content.events is not self._events:
            self._prepare(content.events, game)
        data = content.data
        pres, self._before = self._read_pre(data, self._before), data
        return self._read_counter(data).get(0, UNSET), pres, self._read_post(data)

    def _prepare(self, events: WholeFrames, game: GameState) -> None:
        """Get ready to read frames of a game with these events."""
        self._events, self._before = events, None
        self._read_counter = events.fields(FRAME_START, ("scene_frame_counter",), int)
        self._read_pre = events.fields(PRE_FRAME, Pre.__struct_fields__, Pre)
        self._read_post = events.fields(POST_FRAME, _Post.__struct_fields__, _Post)
        self.watch = events.watch(bytes(game.by_index), _WATCHED, (game.edge, *_NUMBERS))

    def begin(self, game: GameState, players: list[Player]) -> None:
        """Watch for quiet frames after the last one. `players` are the ones in it.

        This does nothing if the last one is no packed frame, or if a computer has something to do in the next frame
        although all players stay as they are.
        """
        if self._before is None:
            return
        frames = MAX_FRAMES
        living = 0
        for player in players:
            flags = FLAGS[player.post.action_state_id]
            if not flags & DYING:
                if player.stocks.open is None:
                    return
                living |= 1 << player.index
            if player.last_hit is not None:
                hitter, state = player.last_hit
                if game.by_index[hitter].post.action_state_id != state:
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
                frames = min(frames, player.actions.due - game.number - 1)
        if frames <= 0:
            return
        self._players, self._living = players, living
        self.watch.begin(self._before, frames, living)
        self.watched = self._events

    def add_up(self, game: GameState) -> None:
        """Let the computers add the quiet frames so far, and watch for more."""
        if self.watched is not None:
            self.end(game)
            self.begin(game, self._players)

    def end(self, game: GameState) -> None:
        """Let the computers add the quiet frames, because the next one isn't quiet."""
        if self.watched is None:
            return
        self.watched = None
        last, frames, nearest, inputs = self.watch.end()
        if not frames:
            return
        game.number += frames
        if game.expected_counter is not None:
            game.expected_counter += frames
        for index, number, *counts in inputs:
            game.by_index[index].inputs.add(number - game.timer_start, *counts)
        for index, pre in self._read_pre(last, self._before).items():
            if index in game.by_index:
                game.by_index[index].inputs.pre = pre
        self._before = last
        posts = self._read_post(last)
        are_contested = self._living & (self._living - 1) != 0  # at least two bits are set
        for player in self._players:
            player.prev = player.post = post = posts[player.index]
            flags = FLAGS[post.action_state_id]
            conversions, combos = player.conversions, player.combos
            if conversions.open is not None and (conversions.counter or flags & CONTROL):
                conversions.counter += frames
            if combos.open is not None:
                combos.counter = 0 if flags & HELD else combos.counter + frames
            positions = player.positions
            if positions.is_off_stage or flags & (SHIELD | LEDGE):
                positions.stay(flags, frames)
            if are_contested and self._living >> player.index & 1:
                positions.contested_frames += frames
                positions.control_frames += nearest[player.index]
