"""Race times in file names and headers: minutes, seconds, milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RaceTime(NamedTuple):
    """A time in the form in which it is stored. It might be out of range."""

    minutes: int
    seconds: int
    milliseconds: int

    @property
    def valid(self) -> bool:
        """Whether the seconds and milliseconds are in range."""
        return self.seconds <= 59 and self.milliseconds <= 999

    @property
    def used(self) -> bool:
        """Whether the time was really driven, which means that it is valid and not one of the two fillers for unused
        laps.
        """
        return self.valid and self not in FILLERS

    @property
    def total_milliseconds(self) -> int:
        """The whole time in milliseconds."""
        return (self.minutes * 60 + self.seconds) * 1000 + self.milliseconds


FILLERS = (RaceTime(9, 59, 999), RaceTime(0, 0, 0))


def driven(laps: Sequence[RaceTime]) -> tuple[RaceTime, ...]:
    """Return the laps up to the first one that was not driven."""
    count = next((index for index, lap in enumerate(laps) if not lap.used), len(laps))
    return tuple(laps[:count])
