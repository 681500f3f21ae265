"""Calls for clients of a relayed station by broadcast, as a console does, so that launchers list it.

Launchers connect to the address that sent the broadcast, on the port of consoles. So one address can announce one
station: the one with that port as its `relay_port`. Like a console, it calls only while no client is connected.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from slpstream.parts.services import RelayedStations
from slpstream.system.logs import get_logger

CALL_SECONDS = 10.0
_LOOK_SECONDS = 1.0


class RelayCall:
    """The broadcasts for the relayed station, which a reload can change. `run` it in one task; after a bug, run it
    again."""

    def __init__(
        self,
        relayed: Callable[[], tuple[str, str] | None],
        source: str,
        target: tuple[str, int],
        stations: Callable[[], RelayedStations | None],
    ) -> None:
        """`relayed` returns the id and the name of the station, or `None`. `source` is the address of the relay,
        `target` the address and port to broadcast to. `stations` returns the relayed stations, or `None` without that
        part."""
        self._relayed = relayed
        self._source = source
        self._target = target
        self._stations = stations
        self._problem = "", ""
        """The station that could not be announced, and why; empty after it was."""
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """Why the station is not announced; empty if it is."""
        (station, what), relayed = self._problem, self._relayed()
        is_current = relayed is not None and relayed[0] == station
        return [f"announce: station {station}: {what}"] if what and is_current else []

    async def run(self) -> None:
        """Calls every ten seconds while the relay has no client, until cancelled."""
        while True:
            relayed, stations = self._relayed(), self._stations()
            if relayed is not None and stations is not None and stations.relay_clients(relayed[0]) == 0:
                await self._call(stations, *relayed)
                await trio.sleep(CALL_SECONDS)
            else:
                await trio.sleep(_LOOK_SECONDS)

    async def _call(self, stations: RelayedStations, station: str, name: str) -> None:
        try:
            await stations.call(station, name, self._source, self._target)
        except OSError as error:
            what = error.strerror or str(error)
            if (station, what) != self._problem:
                self._log.error("relayed station cannot be announced", station=station, what=what)
            self._problem = station, what
        else:
            self._problem = "", ""
