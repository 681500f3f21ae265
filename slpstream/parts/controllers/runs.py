"""Runs of frames in which a stick stays at the same point. Most checks read these instead of single frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

FULL = 80
"""The raw value that the game maps to 1.0. Larger values, which go up to 127, have the same effect."""
DEAD_ZONE = 23
"""On each axis, the game maps everything below 0.2875 to 0. This is 23 of 80."""


class Run(NamedTuple):
    """Some frames in which a stick stayed at the same point."""

    first: int
    """The number of the first frame."""
    frames: int
    x: int
    y: int
    follows: bool
    """Whether we know the frame before `first`. At the start of the game and after missing frames, we don't."""

    @property
    def radius(self) -> float:
        """The distance from the centre."""
        return math.hypot(self.x, self.y)


class Runs:
    """Joins frames into runs. A run is only passed on when it has ended."""

    def __init__(self, *receivers: Callable[[Run], None]) -> None:
        self._receivers = receivers
        self._x = self._y = self._first = 0
        self._frames = 0
        self._next: int | None = None
        self._follows = False

    def take(self, number: int, x: int, y: int) -> None:
        """Add the point of one frame."""
        if number == self._next:
            if x == self._x and y == self._y:
                self._frames += 1
                self._next = number + 1
                return
            follows = True
        else:
            follows = False
        if self._frames:
            run = Run(self._first, self._frames, self._x, self._y, self._follows)
            for receive in self._receivers:
                receive(run)
        self._first, self._frames, self._x, self._y, self._follows = number, 1, x, y, follows
        self._next = number + 1
