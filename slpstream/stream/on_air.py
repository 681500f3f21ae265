"""The station on air, which is the one station that a production shows."""

from __future__ import annotations

from typing import Any, Literal

import trio

from slpstream.model.messages import timestamp

ChosenBy = Literal["operator", "rule"]


class OnAir:
    """The station that is on air, with a way to wait until it is another one.

    If you want to follow it, remember the station that you showed last, and wait for a different one. This way you
    can't miss a change, no matter how long you were busy in between:

        station_id = None
        while True:
            station_id = await on_air.other_than(station_id)
    """

    def __init__(self) -> None:
        self.station_id: str | None = None
        """The station on air, or `None` while there is no such station."""
        self.chosen_by: ChosenBy | None = None
        """Whether the operator or the rule chose it, or `None` while no station is on air."""
        self.since: float | None = None
        """Unix time of the last change of the station on air, or `None` if no station was ever on air."""
        self._changed = trio.Event()

    async def other_than(self, station_id: str | None) -> str | None:
        """Wait until a station other than `station_id` is on air, and return it."""
        await trio.lowlevel.checkpoint()
        while self.station_id == station_id:
            await self._changed.wait()
        return self.station_id

    def put(self, station_id: str | None, chosen_by: ChosenBy | None, at: float) -> bool:
        """Put a station on air, where `at` is the Unix time of the change. Returns whether this changed anything."""
        if (station_id, chosen_by) == (self.station_id, self.chosen_by):
            return False
        if station_id != self.station_id or self.since is None:
            self.since = at
        self.station_id, self.chosen_by = station_id, chosen_by
        changed, self._changed = self._changed, trio.Event()
        changed.set()
        return True

    def message(self) -> dict[str, Any]:
        """Return the `on_air` status message, which describes the current state."""
        since = None if self.since is None else timestamp(self.since)
        return {"type": "on_air", "station": self.station_id, "by": self.chosen_by, "since": since}
