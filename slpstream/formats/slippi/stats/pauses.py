"""Pauses and rollbacks.

We recognise a pause by the `scene_frame_counter` of Frame Start (since 3.10), because it keeps counting during the
pause. This means that in the first frame after the pause, it jumps by the length of the pause. We recognise a rollback
if the final version of a frame isn't the first one (its `revision` is above 0).
"""

from __future__ import annotations

import copy
from typing import Self

from slpstream.formats.slippi.stats.extra import Rollbacks


class Pauses:
    """The pauses of a game."""

    __slots__ = ("count", "expected", "frames")

    def __init__(self) -> None:
        self.count = self.frames = 0
        self.expected: int | None = None
        """The counter of the next frame if there is no pause."""

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        return copy.copy(self)

    def jump(self, counter: int) -> int:
        """Take a counter that isn't the one we expected.

        Returns how many frames the pause took, or 0 if there was none.
        """
        paused_frames = 0 if self.expected is None else counter - self.expected
        self.expected = counter
        if paused_frames <= 0:
            return 0
        self.count += 1
        self.frames += paused_frames
        return paused_frames


class RollbackCounter:
    """Counts the frames that were sent more than once."""

    __slots__ = ("_last", "_run", "frames", "longest", "sendings")

    def __init__(self) -> None:
        self.frames = self.sendings = self.longest = 0
        self._run = 0
        self._last: int | None = None

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        return copy.copy(self)

    def add(self, number: int, revision: int) -> int:
        """Count a final frame whose `revision` is above 0.

        Returns how many of these have come in a row, including this one.
        """
        self._run = self._run + 1 if self._last == number - 1 else 1
        self._last = number
        self.frames += 1
        self.sendings += revision + 1
        self.longest = max(self.longest, self._run)
        return self._run

    def totals(self) -> Rollbacks:
        """The counts so far."""
        return Rollbacks(self.frames, self.sendings, self.longest)
