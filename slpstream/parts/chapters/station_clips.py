"""The sets and games of a daemon's stations as clips."""

from __future__ import annotations

from collections.abc import Sequence

from slpstream.parts.chapters.clips import Clip, Per, clips_of
from slpstream.parts.interface import Host, RunningPart

_EARLIER_MS = 3_600_000
"""A set that began up to this long before the video can continue in it."""


class StationClips(RunningPart):
    """The clips of one daemon."""

    def __init__(self, host: Host) -> None:
        self._sets = host.sets
        self._stations = host.stations

    async def clips(self, station: str | None, since_ms: int, per: Per) -> Sequence[Clip]:
        """Return the clips of the given station since a certain time. If you pass `None`, you get those of all
        stations.

        Raises `StoreError` if we can't read the sets.
        """
        found: list[Clip] = []
        for each in list(self._stations) if station is None else [station]:
            found += clips_of(await self._sets.sets_since(each, since_ms - _EARLIER_MS), each, per)
        return found
