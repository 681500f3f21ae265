"""The station on air: the one station that a production shows."""

from __future__ import annotations

from typing import Any, Literal

import trio

from slpstream.model.messages import timestamp

ChosenBy = Literal["operator", "rule"]


class OnAir:
    """The station on air, and a way to wait for another one.

    A follower remembers the station that it showed last and waits for a different one. So it misses no change, however
    long it is busy:

        station_id = None
        while True:
            station_id = await on_air.other_than(station_id)
    """

    def __init__(self) -> None:
        self.station_id: str | None = None
        """The station on air; `None` while there is no such station."""
        self.chosen_by: ChosenBy | None = None
        """Whether the operator or the rule chose it; `None` while no station is on air."""
        self.since: float | None = None
        """Unix time of the last change of the station on air; `None` if no station was ever on air."""
        self._changed = trio.Event()

    async def other_than(self, station_id: str | None) -> str | None:
        """Wait until the station on air is not `station_id`, and return it."""
        await trio.lowlevel.checkpoint()
        while self.station_id == station_id:
            await self._changed.wait()
        return self.station_id

    def put(self, station_id: str | None, chosen_by: ChosenBy | None, at: float) -> bool:
        """Put a station on air at a Unix time. Return whether anything has changed."""
        if (station_id, chosen_by) == (self.station_id, self.chosen_by):
            return False
        if station_id != self.station_id or self.since is None:
            self.since = at
        self.station_id, self.chosen_by = station_id, chosen_by
        changed, self._changed = self._changed, trio.Event()
        changed.set()
        return True

    def message(self) -> dict[str, Any]:
        """Return the `on_air` status message."""
        since = None if self.since is None else timestamp(self.since)
        return {"type": "on_air", "station": self.station_id, "by": self.chosen_by, "since": since}
