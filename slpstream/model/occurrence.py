"""An occurrence of a situation in a game."""

from __future__ import annotations

import msgspec


class Occurrence(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A situation that has happened."""

    player_index: int
    """The player that the query is about."""
    opponent_index: int
    """The opponent."""
    frames: tuple[int, ...]
    """The frame number of each step."""
    known_frame: int
    """The frame in which the situation becomes certain. It is later than the last step only after waiting for a
    kill."""

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Sort key: occurrences are ordered by the frame in which they are known, then by their last step, then by
        players."""
        return self.known_frame, self.frames[-1], self.player_index, self.opponent_index
