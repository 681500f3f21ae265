"""The inputs of players, which we take from their Pre-Frame Updates, beginning with frame -39. Here, every game counts
its frames from -123.

There are three kinds of inputs. A button counts when it goes down (`physical_buttons`, the lower 12 bits). A joystick
or C-stick counts when it enters another region, unless that's the dead zone. A trigger (`physical_l_trigger`,
`physical_r_trigger`) counts when it rises to 0.3. A stick has nine regions, which are split at 0.2875 on each axis. If
it is exactly at 23/80, it is in the dead zone, because we compare the stored 32-bit value with 64 bits.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import msgspec

from slpstream.formats.slippi.commands import FIRST_PLAYABLE_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.schema import InputCounts

GAUGE_FRAMES = 600
"""Window of the live gauge: ten seconds."""
BUTTONS = 0xFFF
"""The bits of `physical_buttons` that count."""
DEAD_ZONE = 0.2875
TRIGGER = 0.3


class Pre(msgspec.Struct, gc=False):
    """Those fields of a Pre-Frame Update that count, in the order of the event."""

    joystick_x: float = 0.0
    joystick_y: float = 0.0
    c_stick_x: float = 0.0
    c_stick_y: float = 0.0
    physical_buttons: int = 0
    physical_l_trigger: float = 0.0
    physical_r_trigger: float = 0.0


class Inputs(Computer):
    """The inputs of one player."""

    def __init__(self) -> None:
        self.buttons = self.triggers = self.cstick = self.joystick = self.total = 0
        self.pre: Any = Pre()
        """The last Pre-Frame Update."""
        self._recent: list[tuple[int, int]] = []  # frames with inputs, and the total before them

    def update(self, frame: int, pre: Any) -> None:
        """Count the inputs of one Pre-Frame Update."""
        before, self.pre = self.pre, pre
        if frame < FIRST_PLAYABLE_FRAME:
            return
        buttons = (pre.physical_buttons & ~before.physical_buttons & BUTTONS).bit_count()
        joystick = _enters(before.joystick_x, before.joystick_y, pre.joystick_x, pre.joystick_y)
        cstick = _enters(before.c_stick_x, before.c_stick_y, pre.c_stick_x, pre.c_stick_y)
        left = before.physical_l_trigger < TRIGGER <= pre.physical_l_trigger
        right = before.physical_r_trigger < TRIGGER <= pre.physical_r_trigger
        if buttons or joystick or cstick or left or right:
            self.add(frame, buttons, joystick, cstick, left + right)

    def add(self, frame: int, buttons: int, joystick: int, cstick: int, triggers: int) -> None:
        """Add the inputs of a playable frame."""
        self.buttons += buttons
        self.joystick += joystick
        self.cstick += cstick
        self.triggers += triggers
        self._recent.append((frame, self.total))
        self.total += buttons + joystick + cstick + triggers

    def counts(self) -> InputCounts:
        """slippi-js `InputCountsType`."""
        return InputCounts(self.buttons, self.triggers, self.cstick, self.joystick, self.total)

    def per_minute(self, frame: int) -> float | None:
        """Return the inputs per minute over the 600 frames up to `frame`, or over all frames if there aren't that many.

        Before frame -39, this is `None`.
        """
        first = max(frame - GAUGE_FRAMES + 1, FIRST_PLAYABLE_FRAME)
        if frame < first:
            return None
        recent = self._recent
        del recent[: bisect_left(recent, (first,))]
        before = recent[0][1] if recent else self.total
        return (self.total - before) * 3600 / (frame - first + 1)


def _enters(old_x: float, old_y: float, x: float, y: float) -> bool:
    """Whether a stick enters another region, which isn't the dead zone."""
    if x == old_x and y == old_y:
        return False
    region = _region(x, y)
    return region != 0 and region != _region(old_x, old_y)


def _region(x: float, y: float) -> int:
    """Return 0 for the dead zone, and one of the numbers from -4 to 4 for the other regions."""
    return 3 * ((x > DEAD_ZONE) - (x < -DEAD_ZONE)) + (y > DEAD_ZONE) - (y < -DEAD_ZONE)
