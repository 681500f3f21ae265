"""One frame in the form that messages have, together with a view of it that doesn't depend on the format."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS
from slpstream.formats.slippi.frame_events import ITEM, POST, PRE, REPEATED, START
from slpstream.model.events import Inputs, State


class PlayerFrame(msgspec.Struct, gc=False):
    """One character's part of a frame: `pre` and `post`, each absent when its event is missing."""

    pre: Any = UNSET
    post: Any = UNSET

    @property
    def inputs(self) -> Inputs | None:
        """A view of `pre` that is the same for all formats."""
        pre = self.pre
        if pre is UNSET:
            return None
        from slpstream.formats.slippi.names import physical_buttons  # noqa: PLC0415 -- most readers need no names

        pressed = pre.physical_buttons
        return Inputs(
            steer=pre.joystick_x,
            pitch=pre.joystick_y,
            stick=(pre.joystick_x, pre.joystick_y),
            c_stick=(pre.c_stick_x, pre.c_stick_y),
            triggers=(pre.physical_l_trigger, pre.physical_r_trigger),
            buttons=frozenset(name for bit, name in physical_buttons().items() if pressed & bit),
        )

    @property
    def state(self) -> State | None:
        """A view of `post` that is the same for all formats."""
        post = self.post
        if post is UNSET:
            return None
        return State(
            position=(post.position_x, post.position_y),
            facing=post.facing_direction,
            damage=post.percent,
            lives=post.stocks_remaining,
        )


class FrameEntry(msgspec.Struct, gc=False, rename="camel"):
    """slippi-js `FrameEntryType`, with `players` and `followers` keyed by player index. Empty parts are absent."""

    frame: int
    revision: int = 0
    start: Any = UNSET
    players: dict[int, PlayerFrame] = {}
    followers: Any = {}
    items: Any = []
    stage_events: Any = []

    def add(self, command: int, event: Any) -> bool:
        """Add a decoded event to a frame that isn't closed. A Pre-Frame Update must be the first of its character.

        Returns False if there is no room for it, because there are `MAX_REPEATED_EVENTS` already.
        """
        if command == PRE:
            (self.followers if event.is_follower else self.players)[event.player_index] = PlayerFrame(event)
        elif command == POST:
            characters = self.followers if event.is_follower else self.players
            characters.setdefault(event.player_index, PlayerFrame()).post = event
        elif command == START:
            self.start = event
        elif command in REPEATED:
            repeated = self.items if command == ITEM else self.stage_events
            if len(repeated) >= MAX_REPEATED_EVENTS:
                return False
            repeated.append(event)
        return True

    def close(self) -> None:
        """Leave out empty parts, because no more events follow."""
        self.followers = self.followers or UNSET
        self.items = self.items or UNSET
        self.stage_events = self.stage_events or UNSET
