"""Pauses and rollbacks: what keeps a game from running on.

A pause: Frame Start's `scene_frame_counter` (since 3.10) goes on while the game stands, so that it jumps; seen with the
first frame after it. A rollback: the final sending of a frame is not its first (`revision` above 0).
"""

from __future__ import annotations

import copy
from typing import Self

from slpstream.stats.extra import Rollbacks


class Pauses:
    """The pauses of a game."""

    __slots__ = ("count", "expected", "frames")

    def __init__(self) -> None:
        self.count = self.frames = 0
        self.expected: int | None = None
        """What the next frame's counter is if play just goes on."""

    def copy(self) -> Self:
        """An independent computer at the same place."""
        return copy.copy(self)

    def jump(self, counter: int) -> int:
        """Another counter than expected came: the frames that the game stood for, 0 when that is no pause."""
        stood = 0 if self.expected is None else counter - self.expected
        self.expected = counter
        if stood <= 0:
            return 0
        self.count += 1
        self.frames += stood
        return stood


class Resent:
    """The frames that were sent more than once."""

    __slots__ = ("_last", "_run", "frames", "longest", "sendings")

    def __init__(self) -> None:
        self.frames = self.sendings = self.longest = 0
        self._run = 0
        self._last: int | None = None

    def copy(self) -> Self:
        """An independent computer at the same place."""
        return copy.copy(self)

    def add(self, number: int, revision: int) -> int:
        """A final frame whose `revision` is above 0; returns how many such frames follow each other by now."""
        self._run = self._run + 1 if self._last == number - 1 else 1
        self._last = number
        self.frames += 1
        self.sendings += revision + 1
        self.longest = max(self.longest, self._run)
        return self._run

    def show(self) -> Rollbacks:
        """The value so far."""
        return Rollbacks(self.frames, self.sendings, self.longest)
