"""The steps of a situation in order. This finds the frames of the latest steps that fit together."""

from __future__ import annotations

from collections.abc import Sequence


class Chain:
    """The steps of one situation between one player and one opponent.

    For each number of steps, we only keep the latest ones, because these leave the most time for the next step.
    """

    __slots__ = ("_begun", "_limits")

    def __init__(self, limits: Sequence[float]) -> None:
        """`limits` contains the time limit of each step since the previous one, in frames. The first limit isn't
        used.
        """
        self._limits = limits
        self._begun: list[tuple[int, ...] | None] = [None] * (len(limits) - 1)
        """The frames of the latest first step, of the latest first two steps, and so on."""

    def happen(self, number: int, step: int) -> tuple[int, ...] | None:
        """Note that a step happens in a frame.

        Returns the frames of all steps if the situation is complete. Within one frame, you have to note later steps
        before earlier ones.
        """
        frames: tuple[int, ...] = (number,)
        if step:
            before = self._begun[step - 1]
            if before is None or number - before[-1] > self._limits[step]:
                return None
            frames = (*before, number)
        if step < len(self._begun):
            self._begun[step] = frames
            return None
        self._begun = [None] * len(self._begun)
        return frames

    def copy(self) -> Chain:
        """Return an independent chain in the same state."""
        twin = Chain(self._limits)
        twin._begun = list(self._begun)
        return twin
