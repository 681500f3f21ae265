"""The inputs of players, which we take from their Pre-Frame Updates, beginning with frame -39. Here, every game counts
its frames from -123.

There are three kinds of inputs. A button counts when it goes down (`physical_buttons`, the lower 12 bits). A joystick
or C-stick counts when it enters another region, unless that's the dead zone. A trigger (`physical_l_trigger`,
`physical_r_trigger`) counts when it rises to 0.3. A stick has nine regions, which are split at 0.2875 on each axis. If
it is exactly at 23/80, it is in the dead zone, because we compare the stored 32-bit value with 64 bits.
"""

from __future__ import annotations

from typing import Any

from slpstream.formats.slippi.commands import FIRST_PLAYABLE_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.schema import InputCounts

GAUGE_FRAMES = 600
"""Window of the live gauge: ten seconds."""
BUTTONS = 0xFFF
"""The bits of `physical_buttons` that count."""
DEAD_ZONE = 0.2875
TRIGGER = 0.3


class Inputs(Computer):
    """The inputs of one player."""

    def __init__(self) -> None:
        self.buttons = self.triggers = self.cstick = self.joystick = 0
        self._pressed = 0
        self._left_trigger = self._right_trigger = 0.0
        self._joystick_region = self._cstick_region = 0
        self._recent: list[tuple[int, int]] = []

    def update(self, frame: int, pre: Any) -> None:
        """Count the inputs of one Pre-Frame Update."""
        pressed, left, right = pre.physical_buttons, pre.physical_l_trigger, pre.physical_r_trigger
        x, y, c_x, c_y = pre.joystick_x, pre.joystick_y, pre.c_stick_x, pre.c_stick_y
        buttons = (pressed & ~self._pressed & BUTTONS).bit_count()
        triggers = (self._left_trigger < TRIGGER <= left) + (self._right_trigger < TRIGGER <= right)
        # The regions of both sticks, which are 0 for the dead zone, or one of 8 others from -4 to 4.
        joystick = 3 * ((x > DEAD_ZONE) - (x < -DEAD_ZONE)) + (y > DEAD_ZONE) - (y < -DEAD_ZONE)
        cstick = 3 * ((c_x > DEAD_ZONE) - (c_x < -DEAD_ZONE)) + (c_y > DEAD_ZONE) - (c_y < -DEAD_ZONE)
        joysticks = joystick and joystick != self._joystick_region
        csticks = cstick and cstick != self._cstick_region
        self._pressed, self._left_trigger, self._right_trigger = pressed, left, right
        self._joystick_region, self._cstick_region = joystick, cstick
        if frame >= FIRST_PLAYABLE_FRAME and (buttons or joysticks or csticks or triggers):
            self.add(frame, buttons, joysticks, csticks, triggers)

    def add(self, frame: int, buttons: int, joystick: int, cstick: int, triggers: int) -> None:
        """Add the inputs of a playable frame."""
        self.buttons += buttons
        self.joystick += joystick
        self.cstick += cstick
        self.triggers += triggers
        self._recent.append((frame, buttons + joystick + cstick + triggers))

    def counts(self) -> InputCounts:
        """slippi-js `InputCountsType`."""
        total = self.buttons + self.triggers + self.cstick + self.joystick
        return InputCounts(self.buttons, self.triggers, self.cstick, self.joystick, total)

    def per_minute(self, frame: int) -> float | None:
        """Return the inputs per minute over the 600 frames up to `frame`, or over all frames if there aren't that many.

        Before frame -39, this is `None`.
        """
        first = max(frame - GAUGE_FRAMES + 1, FIRST_PLAYABLE_FRAME)
        if frame < first:
            return None
        self._recent = recent = [entry for entry in self._recent if entry[0] >= first]
        return sum([count for _, count in recent]) * 3600 / (frame - first + 1)
