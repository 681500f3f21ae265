"""Steps of a situation in order: finds the frames of the latest ones that fit together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Occurrence(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A situation that has happened: whose it is, and the frame number of each step."""

    player_index: int
    opponent_index: int
    frames: tuple[int, ...]
    known_frame: int
    """The frame from which on it is certain. It is later than the last step only if a kill had to be waited for."""

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Occurrences come in the order in which they are known, then complete, then by player and opponent."""
        return self.known_frame, self.frames[-1], self.player_index, self.opponent_index


class Chain:
    """The steps of one situation between one player and one opponent.

    For each number of steps only the latest ones are kept: they have as much time left for the next step as any others.
    """

    __slots__ = ("_begun", "_limits")

    def __init__(self, limits: Sequence[float]) -> None:
        """`limits` are how many frames after the step before each step may happen; the first one is not used."""
        self._limits = limits
        self._begun: list[tuple[int, ...] | None] = [None] * (len(limits) - 1)
        """The frames of the latest first step, the latest first two, and so on."""

    def happen(self, number: int, step: int) -> tuple[int, ...] | None:
        """Take note that a step happens in a frame; returns the frames of all steps if it completes the situation.

        In one frame, later steps have to be given before earlier ones.
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
        """An independent chain in the same state."""
        twin = Chain(self._limits)
        twin._begun = list(self._begun)
        return twin
