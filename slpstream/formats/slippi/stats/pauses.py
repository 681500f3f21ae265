"""Pauses and rollbacks.

We recognise a pause by the `scene_frame_counter` of Frame Start (since 3.10), because it keeps counting during the
pause. This means that in the first frame after the pause, it jumps by the length of the pause. We recognise a rollback
if the final version of a frame isn't the first one (its `revision` is above 0).
"""

from __future__ import annotations

from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.schema import Rollbacks


class Interruptions(Computer):
    """The pauses and rollbacks of a game."""

    def __init__(self) -> None:
        self.pauses = self.paused_frames = 0
        self.expected: int | None = None
        """The `scene_frame_counter` of the next frame if there is no pause."""
        self.rollbacks = Rollbacks(0, 0, 0)
        self._run = 0
        self._last_number: int | None = None

    def count_pause(self, counter: int) -> int:
        """Take the `scene_frame_counter` of a frame. Returns how many frames the pause before it took."""
        paused_frames = 0 if self.expected is None else max(0, counter - self.expected)
        self.pauses += paused_frames > 0
        self.paused_frames += paused_frames
        self.expected = counter + 1
        return paused_frames

    def count_rollback(self, number: int, revision: int) -> int:
        """Count a final frame whose `revision` is above 0.

        Returns how many of these have come in a row, including this one.
        """
        self._run = self._run + 1 if self._last_number == number - 1 else 1
        self._last_number = number
        known = self.rollbacks
        self.rollbacks = Rollbacks(known.frames + 1, known.sendings + revision + 1, max(known.longest, self._run))
        return self._run
