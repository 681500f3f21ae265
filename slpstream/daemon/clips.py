"""The sets and games of a daemon's stations as parts of a video."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from slpstream.daemon.sets import StationSets
from slpstream.sets.video.clips import Clip, Per, clips_of

_EARLIER_MS = 3_600_000
"""A set that began this long before the video can go on in it."""


class DaemonClips:
    """The clips of one daemon, see `web.chapters.Clips`."""

    def __init__(self, sets: StationSets, stations: Callable[[], Collection[str]]) -> None:
        """`stations` returns the ids of the stations."""
        self._sets = sets
        self._stations = stations

    async def clips(self, station: str | None, since_ms: int, per: Per) -> Sequence[Clip]:
        """The clips of a station, or of all stations. Raises `StoreError`."""
        found: list[Clip] = []
        for each in self._stations() if station is None else [station]:
            found += clips_of(await self._sets.sets_since(each, since_ms - _EARLIER_MS), each, per)
        return found
