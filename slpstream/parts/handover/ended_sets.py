"""Find those sets that were not the newest one of their station when they ended.

There are three reasons why this can happen: they were played while no daemon was running, they were read later than the
next set, or a correction has ended them.
"""

from __future__ import annotations

import time

import trio

from slpstream.daemon.sets import StationSets
from slpstream.model.errors import StoreError
from slpstream.parts.handover.waiting_sets import WaitingSets
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger

MAX_AGE_SECONDS = 12 * 3600.0
"""Sets that ended earlier are old ones that a station has found in its folder. They are not exported automatically."""


class EndedSets:
    """Looks through the earlier sets of stations whose games have changed. You can only call `run` once at a time."""

    def __init__(self, sets: StationSets, waiting: WaitingSets, errors: InternalErrors, pause_seconds: float) -> None:
        """`pause_seconds` is how long to wait between two searches."""
        self._sets = sets
        self._waiting = waiting
        self._errors = errors
        self._pause_seconds = pause_seconds
        self._stations: dict[str, None] = {}
        """Stations whose earlier sets have to be searched, in order."""
        self._changed = trio.Event()

    def look_at(self, station: str) -> None:
        """Search the earlier sets of the given station soon."""
        self._stations[station] = None
        self._changed.set()

    async def run(self) -> None:
        """Note which sets have ended, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            stations, self._stations = list(self._stations), {}
            for station in stations:
                with self._errors.contain("handover", station=station):
                    await self._look(station)
            await trio.sleep(self._pause_seconds)

    async def _look(self, station: str) -> None:
        oldest_ms = int((time.time() - MAX_AGE_SECONDS) * 1000)
        try:
            found = await self._sets.sets_since(station, oldest_ms)
        except StoreError as error:
            get_logger().warning("earlier sets cannot be read", station=station, what=str(error))
            self.look_at(station)
            return
        for each in found:
            if each.games:
                is_old = max(game.written_at_ms for game in each.games) < oldest_ms
                self._waiting.note(each.games[0].game_id, station, over=each.over and not is_old)
