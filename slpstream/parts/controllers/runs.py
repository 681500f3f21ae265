"""Runs of frames in which a stick stays at one point. Most checks read runs instead of frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

FULL = 80
"""The raw value that the game maps to 1.0. Larger values, up to 127, have the same effect."""
DEAD_ZONE = 23
"""The game maps each axis below 0.2875, which is 23 of 80, to 0."""


class Run(NamedTuple):
    """Frames in which a stick stayed at one point."""

    first: int
    """Number of the first frame."""
    frames: int
    x: int
    y: int
    follows: bool
    """Whether the frame before `first` is known. It is unknown at the start and after missing frames."""

    @property
    def radius(self) -> float:
        """Distance from the centre."""
        return math.hypot(self.x, self.y)


class Runs:
    """Joins frames to runs. The current run is not passed on before its end."""

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
