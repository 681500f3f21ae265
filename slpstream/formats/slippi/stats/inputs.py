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
from slpstream.formats.slippi.stats.schema import InputCounts

GAUGE_FRAMES = 600
"""Window of the live gauge: ten seconds."""
BUTTONS = 0xFFF
"""The bits of `physical_buttons` that count."""
DEAD_ZONE = 0.2875
TRIGGER = 0.3


class Inputs:
    """The inputs of one player."""

    __slots__ = (
        "_c_region",
        "_c_x",
        "_c_y",
        "_left",
        "_pressed",
        "_recent",
        "_region",
        "_right",
        "_x",
        "_y",
        "buttons",
        "cstick",
        "joystick",
        "triggers",
    )

    def __init__(self) -> None:
        self.buttons = self.triggers = self.cstick = self.joystick = 0
        self._pressed = 0
        self._x = self._y = self._c_x = self._c_y = 0.0
        self._region = self._c_region = 0
        self._left = self._right = 0.0
        self._recent: list[tuple[int, int]] = []

    def copy(self) -> Inputs:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = Inputs()
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._recent = list(self._recent)
        return twin

    @property
    def total(self) -> int:
        """The number of all inputs."""
        return self.buttons + self.triggers + self.cstick + self.joystick

    def update(self, frame: int, pre: Any) -> None:
        """Count the inputs of one Pre-Frame Update."""
        count = 0
        pressed = pre.physical_buttons
        if pressed != self._pressed:
            rising = pressed & ~self._pressed & BUTTONS
            self._pressed = pressed
            if rising:
                count = rising.bit_count()
                if frame >= FIRST_PLAYABLE_FRAME:
                    self.buttons += count
        x, y = pre.joystick_x, pre.joystick_y
        if x != self._x or y != self._y:
            self._x, self._y = x, y
            region = _region(x, y)
            if region != self._region:
                self._region = region
                if region:
                    count += 1
                    if frame >= FIRST_PLAYABLE_FRAME:
                        self.joystick += 1
        x, y = pre.c_stick_x, pre.c_stick_y
        if x != self._c_x or y != self._c_y:
            self._c_x, self._c_y = x, y
            region = _region(x, y)
            if region != self._c_region:
                self._c_region = region
                if region:
                    count += 1
                    if frame >= FIRST_PLAYABLE_FRAME:
                        self.cstick += 1
        trigger = pre.physical_l_trigger
        if trigger != self._left:
            if self._left < TRIGGER <= trigger:
                count += 1
                if frame >= FIRST_PLAYABLE_FRAME:
                    self.triggers += 1
            self._left = trigger
        trigger = pre.physical_r_trigger
        if trigger != self._right:
            if self._right < TRIGGER <= trigger:
                count += 1
                if frame >= FIRST_PLAYABLE_FRAME:
                    self.triggers += 1
            self._right = trigger
        if count and frame >= FIRST_PLAYABLE_FRAME:
            self._recent.append((frame, count))

    def add(self, frame: int, buttons: int, joystick: int, cstick: int, triggers: int) -> None:
        """Add the inputs of a playable frame that was counted elsewhere."""
        self.buttons += buttons
        self.joystick += joystick
        self.cstick += cstick
        self.triggers += triggers
        self._recent.append((frame, buttons + joystick + cstick + triggers))

    def follow(self, pre: Any) -> None:
        """Take the Pre-Frame Update of a frame that was counted elsewhere, without counting it again."""
        self.update(FIRST_PLAYABLE_FRAME - 1, pre)  # nothing counts yet in this frame

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
        self._recent = recent = [entry for entry in self._recent if entry[0] >= first]
        return sum([count for _, count in recent]) * 3600 / (frame - first + 1)


def _region(x: float, y: float) -> int:
    """Return the region of a stick, which is 1 to 8 for one of the eight directions, or 0 for the dead zone."""
    if x > DEAD_ZONE:
        return 1 if y > DEAD_ZONE else 2 if y < -DEAD_ZONE else 3
    if x < -DEAD_ZONE:
        return 4 if y > DEAD_ZONE else 5 if y < -DEAD_ZONE else 6
    return 7 if y > DEAD_ZONE else 8 if y < -DEAD_ZONE else 0
