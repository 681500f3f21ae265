"""Race times, as file names and records have them: minutes, seconds, milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RaceTime(NamedTuple):
    """A time as stored, valid or not."""

    minutes: int
    seconds: int
    milliseconds: int

    @property
    def valid(self) -> bool:
        """Seconds and milliseconds are within their ranges."""
        return self.seconds <= 59 and self.milliseconds <= 999

    @property
    def used(self) -> bool:
        """A time that was driven: neither invalid nor one of the two fillers, 9:59.999 and 0:00.000."""
        return self.valid and self not in FILLERS

    @property
    def total_milliseconds(self) -> int:
        """The whole time in milliseconds."""
        return (self.minutes * 60 + self.seconds) * 1000 + self.milliseconds


FILLERS = (RaceTime(9, 59, 999), RaceTime(0, 0, 0))


def driven(laps: Sequence[RaceTime]) -> tuple[RaceTime, ...]:
    """The first laps, up to one that was not driven."""
    count = next((index for index, lap in enumerate(laps) if not lap.used), len(laps))
    return tuple(laps[:count])
